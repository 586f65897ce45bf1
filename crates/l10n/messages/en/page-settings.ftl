# The web page: the settings, for owners.

about = These settings are in the configuration file; its comments stay. Nothing is written before you've seen what changes.
needs-restart = Waits for a restart: { $what }.
restart = Restart now
changes = Recent changes
# $who: a person. $what: such as “limits.day_tokens, memory.extract”.
change = { $who }: { $what }
# Somebody without a name.
somebody = Somebody
undo = Undo the last change
show-change = Show the change
test = Test
test-hint = Tests what the file says now.

## Fields

by-default = Default
on = On
off = Off
auto = Runs
ask = Asks first
deny = Never runs
# Behind a field for a secret.
secret-hint = Say where it is: env:NAME, file:PATH or credential:NAME. Leave it empty to change nothing.
not-set = Not set.
# $source: such as “env:OPENAI_API_KEY”.
set-at = Now: { $source }.
in-clear = It's in the file itself.

## A change before it is written

change-title = What changes in the file
will-need-restart = Needs a restart: { $what }.
not-writable = I'm not allowed to write this file.
command = Run this on my machine: { $command }
write = Write it
back = Back to the settings

## What wasn't accepted

changed-meanwhile = The file has changed meanwhile. This is how it is now; check your changes again.
nothing-changes = That changes nothing.
# $key: such as “model.api_key”.
not-a-source = { $key }: say where the secret is (env:NAME, file:PATH or credential:NAME), not the secret itself.
unknown-setting = { $key } isn't a setting here anymore.
# What a change is answered that takes the ownership from its own author.
would-lock-out = Then you wouldn't be an owner. Keep an account of yours among the owners; another owner can remove it.
cannot-undo = There is nothing to undo: the file has changed since.
cannot-write = I couldn't write the file: { $why }

## Sections

model = Model
assistant = Assistant
people = People and owners
named-channel = { $platform }: { $name }
limits = Limits and budgets
approvals = Approvals
skills = Skills
roles = Roles: skills that they don't get
memory = Memory
retention = How long data is kept
connect = Connected accounts
backups = Backups

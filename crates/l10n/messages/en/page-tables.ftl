# The web page: the tables of a person's own things, and those of the system.

## What can be done with a row

actions = Actions
add = Add
edit = Edit
save = Save
complete = Done
reopen = Open again
pause = Pause
resume = Resume
delete = Delete
cancel = Cancel
send-again = Send again
let-in = Let in
end = End

# What of an act can't be undone, before it is done.
memory-is-gone = The messages that say it are forgotten, too. For an hour, /undo brings back the memory, but not them.
plan-is-gone = What it did stays, but the plan can't be brought back.
plan-ends = What it did stays, but it can't go on after that.
rule-ends = I'll ask each time again. Only a new “Always” below a question changes that.

# What a person did here, in their history. $act: one of the above; the receipt follows.
on-the-page = On the page: { $act }

# A field that filters all tables of the page.
find = Find on this page

## Columns of several tables

what = What
when = When
since = Since
until = Until
channel = Channel

## Tasks and schedules

tasks = Tasks
no-tasks = No task is open.
task = Task
due = Due
priority = Priority
new-task = New task
# A field for the day, and perhaps the time, that a task is due.
due-as = Due, such as 2026-11-27 or 2026-11-27 17:00
done-lately = Recently done
nothing-done = Nothing was done in the last 7 days.
schedules = Schedules
no-schedules = Nothing is scheduled.
next = Next
status = Status

## Watches

watches = Watches
no-watches = Nothing is watched.
then = And then
stop = Stop
# Before the choice of what is watched.
tell-me = Tell me about
watched =
    { $act ->
        [watch-meetings] meetings that begin soon
       *[other] email
    }
words-of-subject = Words of its subject
# What to do instead of telling, in the person's own words.
or-do = Or do this, asking first
watch = Watch
no-watch = I can't watch that. Say from whom or about what, and until a day to come. Emails need a mailbox that I can read.

## Memories

memories = Memories
no-memories = Nothing is remembered.
kind = Kind
# Whom or what a memory is for.
meant-for = For
from = From
wrote = What you wrote
quote = “{ $text }”
asked-to-remember = What you asked to remember

## Notes, which are files in a folder

notes = Notes
no-notes = There are no notes yet.
not-shown-whole = This note has characters that a page can't show, so change it with another program.

## Standing approvals

allowed = Allowed in advance
nothing-allowed = I ask you about everything that needs your yes.
used = Used

## Files that the person sent

files = Files
no-files = You haven't sent a file.
size = Size
kilobytes = { $number } KB

## Problems

problems = Problems
no-problems = None found here. `adjutant doctor` also checks the servers.
set-aside = set aside because my code failed on it three times: { $event }
model-fails = In the last hour, { $failed } of { $calls } model calls got no answer.
resting-skill = { $skill } keeps failing, so it's paused for a moment

## Access and delivery

access-requests = Access requests
no-access-requests = No requests.
name = Name
undelivered = Couldn't be delivered
all-delivered = Everything was delivered.
text = Text
why = Why

## Rooms and their rules

rooms = Rooms
no-rooms = Nobody has talked to me in a room yet.
answers = I answer
skills = Skills
people = People
# Fields of the form that changes a rule.
answers-as = I answer: always, mentioned or never
skills-as = Skills, such as tasks, calendar, or all
people-as = People by mention or ID, or all

## Instances

instances = Instances
instance = Instance
process = Process
this-instance = { $id } (this one)
leases = Leases
no-leases = None.
of-what = Of what
held-by = Held by
by-this-instance = this one
number = Number

## MCP servers

servers = MCP servers
no-servers = None.
server = Server
state = State
approved-tools = Approved tools

## The log

log = Log by request
nothing-logged = This process has logged nothing about a request.
lines = Lines
last-line = The last one
log-of-request = Log of a request
the-request = The request
# In markdown.
no-lines = No log lines here. See `journalctl -u adjutant`.

# Why a call of a skill isn't made, or ends early.

## Refusals

denied = { $skill } isn't allowed: whoever runs me has switched it off
not-granted = { $skill } is not granted to this agent; it has { $granted }
# $effects: how far the effects of the role's calls may reach, in a few words.
beyond-role = { $skill } does more than this agent's role may: { $effects }
gone = the skill { $skill } no longer exists
no-builtin = there is no built-in skill { $skill }
is-workflow = { $skill } is a workflow: dispatch { $skill } alone, with arguments

## A person's answer

rejected = rejected, so it wasn't done
# $words: what the person wrote, which asks or says more than no.
rejected-saying = rejected, so it wasn't done. They wrote: “{ $words }”
withdrawn = changed in a later message and settled there, so it wasn't done here and needs no mention
expired = the approval expired
changed-since = what it would do has changed since the question was asked, so it wasn't done. Ask again

## Calls that fail

late = { $skill } didn't answer within { $duration }
paused = { $skill } has failed too often recently. It can be tried again in { $seconds } s
stopped = it was stopped while it was running
conflict = somebody else keeps changing the same thing at the same time. Try again

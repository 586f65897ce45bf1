# What undoing says of each change.

nothing = There's nothing to undo
# $change: what was done, like “Added “buy milk”” or one of the labels below.
undone = Undone: { $change }
# A task that was deleted.
task-is-back = “{ $title }” is back on your list
# A task that was done.
task-is-open = “{ $title }” is open again
# A schedule that was paused.
schedule-runs = “{ $text }” is running again
# A schedule that was resumed.
schedule-is-paused = “{ $text }” is paused again
# A memory that was forgotten.
remembered-again = I remember again: { $text }
# Before it is done. $changes: what was done, as above.
take-back = Undo: { $changes }
changed-since = Left alone, because it was changed since: { $change }
impossible = This can't be undone: { $change }
sent = It was sent, so it can't be undone: { $change }
# The guests of an event.
guests-know = The guests may know of it, so I can't undo it: { $change }
# Of an event that was moved. $before: when it was.
guests-know-move = The guests may know of it, so I can't undo it; ask me to move it back to { $before }: { $change }

## What was done, where the receipt is a promise

remembering = remembering “{ $text }”
schedule = the schedule “{ $text }”
# $zone: such as Europe/Berlin.
clock = setting your time zone to { $zone }

## Errors

question-open = you still have a question to answer: { $question }. Answer that first, then say “undo” again

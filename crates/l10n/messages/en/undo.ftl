# What undoing says of each change.

nothing = There's nothing to undo in your last ten messages
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
# A schedule whose time or text was changed.
changed-back = Changed back: { $schedule }
# A memory that was forgotten.
remembered-again = I remember again: { $text }
# Before it is done. $changes: what was done, as above.
take-back = Undo: { $changes }
changed-since = Left alone, because it was changed since: { $change }
impossible = This can't be undone: { $change }
sent = It was sent, so it can't be undone: { $change }
# On a line below, of an event with guests.
guests-told = The calendar server tells the guests
# The same of guests who heard of what is undone. $guests: addresses.
may-not-know = { $guests } may not know that it's undone

## What was done, where the receipt is a promise

remembering = remembering “{ $text }”
schedule = the schedule “{ $text }”
# $zone: such as Europe/Berlin.
clock = setting your time zone to { $zone }

## Errors

question-open = answer the open question first: its request has changed something already. Then say “undo” again

# What is said about the agents that work on one request.

## Why an agent isn't done, after what it does: "Send the report: not started"

held-back = on hold
awaits-approval = waiting for your approval
in-progress = in progress
not-started = not started
# $tasks: what those do whose results it waits for, each in quotes.
not-started-needs = waiting for { $tasks }
# $done: what another request of the person has done while this one asked whether to continue.
done-meanwhile = held back, because this was done meanwhile: { $done }

## After a no to the one thing that was asked

not-done = OK, I won't do that.

## What an agent does, where the person's message doesn't say it

undo-last = undo the last change

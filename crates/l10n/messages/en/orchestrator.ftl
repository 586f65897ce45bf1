# What is said about the agents that work on one request.

## Why an agent isn't done, after what it does: "Send the report: not started"

held-back = on hold
held-back-by-limit = on hold: limit reached
held-back-by-pause = on hold: paused
not-started-limit = not started: limit reached
not-started-pause = not started: paused
awaits-approval = waiting for your approval
in-progress = in progress
not-started = not started
# $tasks: what those do whose results it waits for, each in quotes.
not-started-needs = waiting for { $tasks }

## What an agent does, where the person's message doesn't say it

undo-last = undo the last change

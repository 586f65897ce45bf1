# What the assistant does by itself, again and again: receipts, results and errors.
# $when: "every weekday at 08:00". $first and $next: a date with a time.

## Receipts

scheduled = Scheduled: “{ $text }”, { $when } ({ $zone }), starting { $first }
# On a line under it, of one that only tells what is new.
only-news = I'll write only when there's something to tell
# On a line under it, of one that runs often.
runs = About { $count } runs a day
# $cost: "$9".
runs-cost = About { $count } runs a day, roughly { $cost } a day
changed = Changed the schedule to “{ $text }” { $when } ({ $zone })
paused = “{ $text }” is paused
resumed = “{ $text }” is active again, next on { $next }
deleted = Deleted the schedule “{ $text }”

## A run that ends without anything else to say

# $text: what it was to do.
nothing-to-tell = Nothing to tell: “{ $text }”.

## Under what a run tells that comes late. $when: a date with a time.

late = This was due { $when }.

## A schedule in a question

described = “{ $text }” { $when } ({ $zone })
create-schedule = Schedule a recurring job: { $when }, “{ $text }”
# What changes follows, a line each.
change-schedule = Change the schedule “{ $text }”:
times-change = when: { $old } → { $new }
text-changes = text: “{ $old }” → “{ $new }”

## A schedule in a list, with the id that names it in other requests

active-schedule = “{ $text }” { $when } ({ $zone }; next { $next }) [{ $id }]
paused-schedule = “{ $text }” { $when } ({ $zone }; paused) [{ $id }]
stopped-schedule = “{ $text }” { $when } ({ $zone }; paused, because it failed three times in a row) [{ $id }]

# On a line under it. $at: a date with a time.
last-run =
    last run { $at }: { $outcome ->
        [silent] nothing to tell
        [completed] done
        [queued] not done yet
        [running] still running
        [waiting] waiting for your answer
        [cancelled] stopped
       *[other] failed
    }

## Lists. The schedules follow, a line each.

found =
    { $count ->
        [one] 1 schedule:
       *[other] { $count } schedules:
    }
none = Nothing is scheduled

## Errors. What begins with a slash is an argument's name.

too-many = you already have { $count } schedules. Delete one first
unknown-zone = /timezone: there is no time zone "{ $name }"
too-often = /when: that is too often; the shortest interval is five minutes
no-such-time = /when: "{ $when }" never happens again
no-text = /text: say what to do
no-such-command = /text: /run is the only command that can be scheduled; say what to do in words
none-called = no schedule is called “{ $name }”
several-match = several schedules match: { $schedules }. Say which one
over = “{ $text }” never happens again; delete it

# The calendar: what is asked before an event changes, receipts, invitations, results and errors.
# $when: "Fri 27 Nov 2026, 14:00–15:00". $repeats is empty, or like “, repeating every Monday”.

## Asking before an event changes. $event: its title and when it is, and a line for each of the rest.

add-event = Add to the calendar: { $event }
change-event = Change the event: { $event }
change-series = Change the whole series: { $event }
delete-event = Delete the event: { $event }
delete-one = Delete one event of the series: { $event }
delete-following = Delete this and all later events of the series: { $event }
delete-series = Delete the whole series: { $event }

## The lines of an event that is shown

place = where: { $place }
rule = repeats: { $rule }
guests = invited: { $guests }
# Below that, where nobody hears of it.
nobody-told = nobody is notified: no email account is connected
# Instead, and below a receipt: the event of somebody else.
only-yours = { $organizer } organizes this, so only your copy changes; your calendar may tell them
# $when: one of the two below, or several of them.
reminder = reminder: { $when }, by your calendar app
# $time: "10 minutes".
before-start = { $time } before
at-start = when it starts
# After an arrow, where a line becomes empty.
none = none
notes = notes: { $notes }
instance = occurrence: { $start }
all-day = { $days }, all day

## Receipts

created = Created “{ $title }”, { $when }{ $repeats }
changed = Changed “{ $title }”, { $when }{ $repeats }
# It was asked to be as it is.
unchanged = Nothing to change: “{ $title }”, { $when }
# On a line under that.
untold = I sent no invitation or update for this to { $guests }. To tell them, have me write to them
# One event of a series, and all of them.
changed-one = Changed “{ $title }”, { $when } (only this time)
changed-series = Changed “{ $title }”, { $when }{ $repeats } (the whole series)
moved = Moved “{ $title }” to { $when }{ $repeats } (was { $before })
# One event of a series, and all of them.
moved-one = Moved “{ $title }” to { $when }, only this time (was { $before })
moved-series = Moved “{ $title }” to { $when }{ $repeats }, the whole series (was { $before })
# On a line under the receipt.
was-called = It was called “{ $title }”
deleted-series = Deleted “{ $title }”, the whole series
deleted-one = Deleted “{ $title }” on { $when }
deleted-following = Deleted “{ $title }” from { $when } on
# On a line under the receipt. $when: "10 minutes before".
app-reminds = Your calendar app will remind you { $when }; say so if I should, too
# $events: their titles, each with its times.
overlaps = It overlaps with { $events }
# Below that: what the same answer was to move away or delete, and didn't. $times: when these events are.
still-there = It overlaps with what is still there: { $times }
# $list: events that overlap.
and-more = { $list } and { $count } more

## Whom a change was told to, on a line under the receipt

invited = Invited { $guests } by email
told-of-change = Told { $guests } by email what changed
told-of-cancellation = Told { $guests } by email that it's canceled
told-by-server = The calendar server is notifying { $guests }
not-told-no-account = I couldn't notify { $guests }: no email account is connected
not-told = I couldn't notify { $guests }: { $why }
perhaps-told = I emailed { $guests }, but I don't know whether it arrived, so I didn't send it again

## Subjects of the emails to guests

invitation = Invitation: { $title }
update = Updated: { $title }
cancellation = Canceled: { $title }

## Lists. The events follow, a line each.

found =
    { $count ->
        [one] 1 event:
       *[other] { $count } events:
    }
# There are more than are shown.
found-first = { $count } events, the first { $shown }:
nothing = Nothing in your calendar ({ $period })
none-about = I found no events about “{ $query }”
incomplete = Some events repeat so often that I couldn't check all of their dates in this period.

## Free time

free = You're free ({ $period })
# The events follow, a line each.
busy = You're busy ({ $period }):
busy-partly = You're busy for part of that time ({ $period }):
# $busy: one of the two above.
first-of = { $busy } the first { $shown } of { $count } events
# The times follow, a line each.
slots = Free, on weekdays between 9:00 and 18:00:
slots-within = Free within that time ({ $period }):
# Below them. $when: when the next one begins.
more-slots =
    { $count ->
        [one] and 1 more, from { $when }
       *[other] and { $count } more, from { $when }
    }
no-slot = There's no free slot on a weekday between 9:00 and 18:00 ({ $period })
no-slot-within = There's no free slot within that time ({ $period })
others-unknown = I can't read the calendars of { $people }, so I only checked yours. Their emails may say when they're free.

## Errors. What begins with a slash is an argument's name.

no-start = /start: say when it starts
start-needs-time = /start: an event that isn't all day needs a time
end-needs-time = /end: start has a time, so end needs one too
end-needs-day = /end: start is a day, so end must be one too
end-too-late = /end: that is too late
end-before-start = /end: it must be after start
end-too-far = /end: an event can last a year at most
end-or-duration = /duration: give either end or duration
# $due: such as "2026-11-27T13:50".
no-reminders = /reminders: no calendar app shows this calendar, so nobody would be reminded. Leave them out, and add a task with tasks.create that is due then: { $due }
too-long = /duration: an event can last at most a year
not-a-rule = /recurrence: "{ $rule }" isn't an RRULE ({ $why }); try FREQ=WEEKLY;BYDAY=MO
which-instance = /instance: say which event of the series, by its start; if all of them are meant, span: all
no-such-instance = the series has no event on { $start }
not-found = there's no upcoming event called “{ $name }”
several-match = several events match “{ $name }”: { $events }. Say which one
id-needed = “{ $name }” repeats, so give its id and the instance
no-such-calendar = there is no calendar “{ $name }”; there are { $calendars }
no-calendar = the account has no calendar
deleted-meanwhile = somebody else has just deleted the event
changed-meanwhile = somebody else changed the event at the same time, so I changed nothing. Look at it and try again
changed-meanwhile-to = somebody else changed the event at the same time, so I changed nothing: it is now “{ $title }”, { $start }. Look at it and try again

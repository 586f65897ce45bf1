# What watches tell, and what is said of them.
# $what: what a watch watches, in words: "email from anyone at acme.example".

## What is told. Names and titles are others'.

# $time: "13:30".
told =
    { $kind ->
        [mail] 📬 { $from }: “{ $title }”
        [message] 💬 { $from }: “{ $title }”
        [event_begins] 📅 “{ $title }” begins at { $time }
        [event] 📅 “{ $title }” has changed
        [task] ⏰ Due: “{ $title }”
        [document] 📄 New or changed: “{ $title }”
       *[other] 🔔 “{ $title }”
    }
not-signed = It looks like it's from { $from }, but it isn't signed. Be careful with links and payments.
unsure = I'm not sure whether this is what you meant.
# The lines follow.
digest =
    { $kind ->
        [mail] { $count ->
            [one] 1 new email:
           *[other] { $count } new emails:
        }
       *[other] { $count ->
            [one] 1 new thing:
           *[other] { $count } new things:
        }
    }
# Behind the lines of a digest.
more = … and { $count } more
# Where too many came to say what they are.
only-count =
    { $count ->
        [one] 1 new thing arrived.
       *[other] { $count } new things arrived.
    }
# $day: when it was made.
why = Why you get this: { $what } (your watch of { $day })
# What the person put off.
again = ⏰ You wanted to come back to this: “{ $title }”
# What a telling stands for in the history, as the person would say it.
asked = Tell me about { $what }
# What the button that ends a watch stands for there.
asked-to-stop = Stop telling me about { $what }

answer-button = Answer
later-button = Tomorrow
done-button = Done
# One that does more than tell is ended with what it does.
stop-telling-button = Stop telling me
stop-watch-button = Stop this watch

## What ends or rests

# $why: the last turn's own words.
failed = I've paused “{ $what }”, because it failed three times in a row. Last problem: { $why }
resume-button = Try again
no-access = I've ended “{ $what }”, because its account isn't connected anymore.
# $account: what its person calls it.
source-away = I haven't been able to reach { $account } for an hour. I'll keep trying, and then tell you everything that came meanwhile.
# $usd: "$0.50".
money = “{ $what }” has used its { $usd } for today. It goes on tomorrow.

## Why something asks

unproven-effect = I can't be sure which person is behind what started this, so I'm asking first.
lasting-effect = A watch never does this without asking.
# $reason: one of these two.
not-wished = I'm not sure you asked for this. { $reason }

## Where a text comes from, after "from"

source = what came in: “{ $title }”

## What a watch is about: "email from Ada or anyone at acme.example about “invoice”". Each message is a part of it.

kind =
    { $kind ->
        [everything] every email
        [mail] email
        [answer] answers
        [event_begins] events that begin within { $minutes } minutes
        [event_changes] changes in the calendar
        [task_due] tasks that become due
        [file] files
        [room] messages in a room
       *[other] calls to a web address
    }
anyone-at = anyone at { $domain }
either = { $one } or { $other }
quoted = “{ $text }”
in-folder = in { $folder }
from-whom = from { $who }
about-words = about { $words }
saying-words = saying { $words }
attachment =
    { $is-so ->
        [true] with an attachment
       *[other] without an attachment
    }
outside =
    { $is-so ->
        [true] from outside
       *[other] from inside
    }
fitting = that fits “{ $sentence }”

## A watch before it starts

start =
    { $action ->
        [tell] I'll watch for { $what } and tell you here.
        [run] I'll watch for { $what }. Then I'll run the workflow “{ $words }”.
       *[other]
            I'll watch for { $what }. Then I'll do this: “{ $words }”
            I may do what these words ask for, but send something only where an email's sender is verified. Anything else I'll ask you first.
    }
by-name = Anybody can use this name. With an address or a domain I can be sure.
everything = That's a lot, so I'll send you at most one list an hour.
bound-until = Until { $end }.
bound-quiet = Quiet at { $hours }; I'll tell you afterwards.
bound-usd = For at most { $usd } a day.
# Why it asks, whoever allows it in advance.
needs-your-yes = It starts a watch, and I've read other people's text

## Receipts

started = I'm watching for { $what }
# $effects: "a new task, a note".
may = I may do this without asking: { $effects }. Before anything else I'll ask.
may-nothing = I'll ask you before I do anything.
# The model that reads that didn't answer.
may-later = I couldn't read yet what I may do without asking. I'll try again when something comes; until then I'll ask.
# A line under it, where something of that goes to others.
only-if-signed = I send something to others only where an email's sender is verified; otherwise I'll ask you first.
webhook = Send events to { $url }. I show this address only once.
paused = Paused: { $what }
resumed = I'm watching again for { $what }
deleted = Stopped. I won't tell you about { $what } anymore.
paused-configured = Paused: { $what }. It's set in the configuration, so it can only be removed there.
# $what: such as “Bob Brown: “Thursday?””.
ask-later = Remind you { $when }: { $what }
ask-done = Take off your list: { $what }
later = I'll remind you { $when }
# $noun: "mail", "task" or another kind of thing.
done =
    { $noun ->
        [mail] Off your list. The email itself hasn't changed.
        [task] Off your list. The task itself is still open.
       *[other] Off your list
    }

## Lists

# $watches: one a line.
list =
    I'm watching for:

    { $watches }
none = I'm not watching anything. Try: “Tell me when Acme answers.”
# $id: what names it in other requests.
line =
    { $state ->
        [active] { $what } [{ $id }]
        [paused] { $what } (paused) [{ $id }]
        [stopped] { $what } (stopped) [{ $id }]
       *[over] { $what } (over) [{ $id }]
    }
# On a line under it, of one whose folder the server can't read. $since: a day and a time.
unread = can't be read since { $since }
# On a line under it, of one that does more than tell.
then-words = then: “{ $words }”
set-off =
    { $count ->
        [one] 1 thing set this off
       *[other] { $count } things set this off
    }

## Buttons, with the number of the watch in the list

pause-number = Pause { $number }
resume-number = Resume { $number }
stop-number = Stop { $number }

## Errors. What begins with a slash is an argument's name.

too-many = You already have { $count } watches. Stop one first: `/watches`
not-your-words = /words: copy from the person's message what to do
no-workflow = /words: there is no workflow “{ $name }”; to do what these words say, use do: ask
no-mailbox = there is no mailbox to watch; one must be connected first: `/connect`
which-folder = /place: name a folder that was set up for this; only owners can watch one
which-room = /place: name a room in which the person has written, as CHANNEL:PLACE
not-quiet = /quiet: write two times, such as 22:00-07:00
in-past = /until: that's in the past
gone = There's no such watch anymore. Send `/watches` to see the ones you have.
which-item = say which one: it isn't clear what this is about
item-gone = That's gone. “run morning-briefing” shows what's still there.

## What the buttons under a draft say

draft-gone = That draft is gone.
# $when: a date with a time.
sent-before = I've sent it already: { $when }

## A briefing: its events, and below them the lines with numbers

# $line: a line of this list, here and below.
clash = { $line } (clashes with the one before)
due-line = { $title } (due { $when })
from-line = { $from }: “{ $title }”
unsure-line = { $line } (I'm not sure)
nothing-new = Nothing new.

task-button = Make a task
send-button = Send
change-button = Change
drop-button = Drop

## What a button under a line says for the person

say-answer = Draft an answer to this email
say-task = Make a task of this email
say-finish = Mark this task as done
say-send = Send this draft
say-change = I want to change this draft. Ask me how
say-drop = Move this draft to the trash

# What I did for a person, what that cost, and questions that they take back.

## What I did

# The messages follow, a line each.
messages =
    { $count ->
        [one] 1 message:
       *[other] { $count } messages:
    }
newest-messages = The newest { $count } messages; there are more:
nothing-done = I didn't do anything for you in that time
# A message of the person.
message = “{ $text }”
# A message that isn't done.
message-not-done =
    “{ $text }” ({ $status ->
        [queued] queued
        [running] running
        [waiting] waiting
        [failed] failed
        [cancelled] cancelled
        [dead] given up
       *[other] { $status }
    })
# The beginning of what I said to it.
answer = I said: “{ $text }”
nothing-told = nothing to tell
# $skill: what it was to do, in a few words.
call-failed =
    { $skill } ({ $status ->
        [partial] partial
        [failed] failed
        [timeout] timeout
        [skipped] skipped
        [cancelled] cancelled
        [unknown] unknown
       *[other] { $status }
    }): { $why }
call-failed-unexplained =
    { $skill } ({ $status ->
        [partial] partial
        [failed] failed
        [timeout] timeout
        [skipped] skipped
        [cancelled] cancelled
        [unknown] unknown
       *[other] { $status }
    })
waiting =
    { $count ->
        [one] One question is waiting for your answer: `/status` shows it
       *[other] { $count } questions are waiting for your answers: `/status` shows them
    }

## What it cost

no-usage = No model was called in that period
usage =
    { $calls ->
        [one] 1 model call, { $read } tokens read ({ $cached } from the cache), { $written } written; cost: { $cost }
       *[other] { $calls } model calls, { $read } tokens read ({ $cached } from the cache), { $written } written; cost: { $cost }
    }
usage-without-cost =
    { $calls ->
        [one] 1 model call, { $read } tokens read ({ $cached } from the cache), { $written } written; cost: unknown or none
       *[other] { $calls } model calls, { $read } tokens read ({ $cached } from the cache), { $written } written; cost: unknown or none
    }

## Their time zone. $zone: such as Europe/Berlin.

set-clock = Set your time zone to { $zone }
# $time: what it is there, such as 14:05.
clock = Your time zone is now { $zone }, where it's { $time }

## Questions that a person takes back

# $question: what it asks, in a few words.
withdrawn = I dropped this question, so it won't be done: { $question }
# $questions: what they ask.
withdrawn-together = I dropped { $count } questions, so none of these will be done: { $questions }
not-typed = only a message that the person types can drop or change a question
no-such-question = no such question is open here
answered-yes = this question was answered with yes before
answered-no = this question was answered with no before
answered = this question was answered before
closed = this question was closed before

## Calls that replace one that waits

no-call = only a call or a plan can be replaced: this question is about neither. Withdraw it instead
nothing-changes = these arguments change nothing, so the question stays as it is. If they meant yes, ask them for just that word or a press of the button
replace-alone = a call is replaced in a dispatch of its own, with its arguments and without a role

# Limits and budgets: what was reached, who decides whether to go on, and that little is left.

## Buttons of a request that has come to a limit or was paused

continue-button = Continue
summarise-button = Summarize
stop-button = Stop

## What was reached

paused = I've paused this.
many-agents = This is a bigger job than usual.
many-steps =
    { $count ->
        [one] I've taken { $count } step on this so far.
       *[other] I've taken { $count } steps on this so far.
    }
# The model was called many times.
long = This is taking longer than usual.
# $time: such as "30 minutes".
long-time = I've worked on this for { $time }.
# $time: such as "5 minutes".
many-steps-here =
    { $count ->
        [one] I've taken { $count } step in this conversation within { $time }.
       *[other] I've taken { $count } steps in this conversation within { $time }.
    }
# Some of a budget may be left, but not enough. $budget: such as "$5.00" or "10,000 tokens".
turn-budget = The budget for this request ({ $budget }) doesn't cover the next step.
day-budget = Your budget for today ({ $budget }) doesn't cover the next step.
shared-day-budget = Today's budget for everyone ({ $budget }) doesn't cover the next step.
# $shown is the number as it is written, such as "1,200".
tokens =
    { $count ->
        [one] { $shown } token
       *[other] { $shown } tokens
    }

## What is left, below the receipts of what has been done

left-to-do =
    { $count ->
        [one] There's { $count } thing left to do.
       *[other] There are { $count } things left to do.
    }

## Who decides

shall-i-continue = Shall I continue?
# When a day's budget begins anew. $zone: such as "Europe/Berlin".
resets = The budget resets at midnight ({ $zone }).
owner-asked = I've asked an owner whether to continue; send `/stop` to cancel. The budget resets at midnight ({ $zone }).
owner-needed = Only an owner can let me go on, by writing “continue” here; I can't reach one myself. `/stop` cancels. The budget resets at midnight ({ $zone }).
# $owners: their names.
named-owner-needed = Only an owner ({ $owners }) can let me go on, by writing “continue” here; I can't reach one myself. `/stop` cancels. The budget resets at midnight ({ $zone }).
# Nobody is asked, because an owner was asked before.
still-unanswered = An owner hasn't answered yet about your earlier request, so I'm stopping here. The budget resets at midnight ({ $zone }). Please try again then.
# To an owner. $who: the person, with the platform.
ask-owner = A request from { $who } has reached today's limit of { $budget } per person. Shall I continue with it? That allows the same amount again; `adjutant trace { $turn }` shows what it's about. The budget resets at midnight ({ $zone }).
ask-owner-for-everyone = A request from { $who } has reached today's limit of { $budget } for everyone. Shall I continue with it? That allows the same amount again; `adjutant trace { $turn }` shows what it's about. The budget resets at midnight ({ $zone }).

## Little is left

# $percent: a number.
turn-budget-used = This request used { $percent }% of its { $budget }.
day-budget-used = You've used { $percent }% of your { $budget } for today.
shared-day-budget-used = Everyone together has used { $percent }% of today's { $budget }.

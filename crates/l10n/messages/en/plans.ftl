# Plans: what a person is asked, answered and shown.

## Buttons of a plan

run = Run
change = Change
cancel = Cancel

## Questions

# Below a plan. The words in quotes are what a person can answer.
ask = Nothing runs before you choose. Answer “run”, “cancel”, or for example “change: without the invitation”.
# Below the changed rest of a plan that runs.
ask-rest = Nothing more runs before you choose. Answer “run”, “cancel” to end the plan here, or for example “change: without the invitation”.
what-to-change = What should change?
# Names the question above in a list.
change-question = what should change

## Answers

cancelled = OK, I've dropped the plan. Nothing was done.
usage = Say what to plan, such as `/plan prepare the board meeting on Friday: find the figures, draft the invitation`.
too-long = That's too long for a plan. Describe it more briefly.
# $problems: such as "step 'a' has no `task`; there are two steps called 'b'".
no-plan = I couldn't make a plan that works: { $problems }. Try again with a smaller or clearer goal.
# $why: a sentence.
planner-failed = I couldn't make a plan. { $why }
# Instead of a goal that was deleted.
deleted = (deleted)

## Why a plan, or a part of it, wasn't done

nobody-answered = Nobody answered the plan in time, so nothing was done.
gone = The plan is no longer stored.
rest-cancelled = you declined the changed steps, so the plan ended here
rest-expired = nobody answered in time whether the changed steps should run, so the plan ended here
no-rest = I found no other way
no-verdict = the reviewer gave no verdict
not-reviewed = the result was not reviewed: { $why }
# $reason is the reviewer's.
falls-short = { $step } falls short: { $reason }

## Lines of the progress, after a mark

reviewing = Checking the result
planning-rest = Replanning the rest

## A plan as it is shown

title = Plan: { $goal }
changed-title = Changed plan: { $goal }
# $change: how the person wants it changed, in their words.
changed-goal = { $goal } (changed: { $change })
done-when = Done when: { $criteria }
uncertain = Uncertain
will-ask = You'll be asked
# $estimate is one of the messages estimate, estimate-unpriced and estimate-free, and below it one of by-limits,
# by-some-agents and by-agents.
takes = It takes { $estimate }
rest-takes = The rest takes { $estimate }
estimate = about { $model-calls } model calls and { $cost }; rarely more than { $most-calls } and { $most-cost }.
estimate-unpriced = about { $model-calls } model calls; rarely more than { $most-calls }. I don't know the model's price.
estimate-free = about { $model-calls } model calls; rarely more than { $most-calls }. They cost nothing.
by-limits = These are typical figures; I've run too few plans to say better.
by-some-agents = I've partly estimated this from earlier plans, and partly from typical figures.
by-agents = That's what earlier plans usually took.

## A change of a plan that runs

needs-change = The plan needs a change: { $goal }
step-failed = { $step } failed: { $reason }
done-and-stays = Done, and stays
left-out = Left out
new = New
as-planned = As planned
# $step with its task; $others are the steps before it.
step-after = { $step } (after { $others })

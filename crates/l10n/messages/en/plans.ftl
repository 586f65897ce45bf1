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
planner-failed = I couldn't make a plan: { $why }
# Instead of a goal that was deleted.
deleted = (deleted)

## Why a plan, or a part of it, wasn't done

nobody-answered = Nobody answered the plan in time, so nothing was done.
gone = The plan is no longer stored.
rest-cancelled = you declined the changed steps, so the plan ended here
rest-expired = nobody answered in time whether the changed steps should run, so the plan ended here
no-rest = the planner found no other way
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
done-when = Done when: { $criteria }
uncertain = Uncertain
will-ask = You'll be asked
# $estimate is the message of that name.
takes = It takes { $estimate }
rest-takes = The rest takes { $estimate }
# The numbers are ranges, such as "2 to 31"; $basis is one of the three sentences below.
estimate =
    { $agents } agents (including the reviewer), { $model-calls } model calls, { $skill-calls } skill calls, { $tokens } tokens, { $cost }.
    { $basis }
unknown-cost = unknown cost, because the model's price isn't known
no-cost = no cost
from-to = { $least } to { $most }
# $number: such as "1.2".
million = { $number } million
by-limits = The upper ends are the limits of the roles, with each step done twice: too few of their agents have worked so far to go by.
by-some-agents = Roles whose agents have worked often count with what those usually took, the others with their limits.
by-agents = That's what earlier agents of these roles usually took.

## A change of a plan that runs

needs-change = The plan needs a change: { $goal }
step-failed = { $step } failed: { $reason }
done-and-stays = Done, and stays
left-out = Left out
new = New
as-planned = As planned
# $step with its task; $others are the steps before it.
step-after = { $step } (after { $others })

# The web page: plans.

## The list, and the form for a new one

goal = Goal
# After the word above and a colon.
goal-hint = what you want done. You see the steps first, and nothing runs before you say so.
make = Make a plan
# The form was sent without a goal.
no-goal = Say what you want done, such as: prepare the board meeting on Friday: find the figures, draft the invitation
so-far = Plans so far
none = There is no plan yet.
all = All plans

## A plan

plan = Plan
version = version { $number }
shall-it-run = Shall it run?
review = Review: { $verdict }
dropped = It was dropped. Nothing was done.
steps-deleted = Its steps have expired and were deleted.
what-it-takes = What it takes
# $spent: model calls, tokens and cost.
spent-so-far = So far: { $spent }
spent-in-all = In all: { $spent }

# Workflows: how they are started, explained, drawn and tried out.

## `/run`

# The workflows follow, a line each.
which = Which workflow? Send `/run NAME` with one of these:
no-workflow = There is no workflow '{ $name }'. Send `/run` to see all.
no-workflow-but = There is no workflow '{ $name }'; did you mean '{ $nearest }'? Send `/run` to see all.
no-input = { $workflow } has no input '{ $input }'. It has { $inputs }. If { $input }= is part of a text, put that into quotes.
no-input-but = { $workflow } has no input '{ $input }'; did you mean '{ $nearest }'? It has { $inputs }. If { $input }= is part of a text, put that into quotes.
no-inputs = { $workflow } has no input '{ $input }'. It has no inputs. If { $input }= is part of a text, put that into quotes.
no-input-for = { $workflow } has no input for “{ $words }”.
rerun-usage = To rerun a workflow from a step, give both: `--of RUN --from STEP`

## `/draft`

draft-usage = Say what the workflow should do, such as `/draft first research the company, then draft an email`.
draft-empty = Say what the workflow should do, such as “first research the company, then find their problems, then draft an email”.
draft-too-long = That's too long for a workflow. Describe it more briefly.
draft-invalid = The model didn't write a workflow that passes the check: { $problems }
draft-failed = The model call failed: { $why }
more-lines =
    { $count ->
        [one] … and 1 more line
       *[other] … and { $count } more lines
    }

## In plain sentences: titles

inputs = Inputs
steps = Steps
agents = Agents
run-at-most = A run takes at most { $time }.

## In plain sentences: an input

input = { $name }, { $kind }
input-default = { $name }, { $kind }; default: { $default }
input-optional = { $name }, { $kind }; optional
kind-text = a text
kind-number = a number
kind-boolean = true or false
kind-json = JSON
kind-file = a file

## In plain sentences: a step. $work is one of the next group.

at-start = At the start, { $work }.
at-start-not-before = At the start, but not before { $time }, { $work }.
# $steps: such as "one, two and three".
after = After { $steps }, { $work }.
after-not-before = After { $steps }, but not before { $time }, { $work }.
# $choice is a step that chooses between others.
if-chosen = If { $choice } leads here, { $work }.
if-chosen-not-before = If { $choice } leads here, but not before { $time }, { $work }.
gets-all = It gets every output so far.
gets = It gets “{ $input }”.
step-at-most = It takes at most { $time }.
stored-as = Its output is stored as { $name }.

## In plain sentences: what a step does, and several of a kind

agent-runs = { $agent } runs
skill-called = the skill { $skill } is called
parallel-all = { $agents } run in parallel until all are done
parallel-first = { $agents } run in parallel until the first is done; the others are then stopped
parallel-some = { $agents } run in parallel until { $count } are done; the others are then stopped
# $branches: such as "if x > 1, one; otherwise nothing".
branch-chosen = a branch is chosen: { $branches }
branch-if = if { $condition }, { $target }
branch-otherwise = otherwise { $target }
nothing = nothing
for-each-item = { $agent } runs for each item of { $items }, at most { $most } at once
for-each-item-then = { $agent } runs for each item of { $items }, at most { $most } at once; then { $reducer } gets all outputs
in-rounds =
    { $rounds ->
        [one] { $agent } works and { $validator } reviews, with feedback for the next round, until the review passes or after 1 round
       *[other] { $agent } works and { $validator } reviews, with feedback for the next round, until the review passes or after { $rounds } rounds
    }
# $choices: such as "yes or no".
asked = a person is asked “{ $question }” and answers { $choices }
workflow-runs = the workflow { $workflow } runs
and = { $names } and { $last }
or = { $names } or { $last }

## In plain sentences: failures, after a semicolon

attempts =
    { $count ->
        [one] up to 1 attempt
       *[other] up to { $count } attempts
    }
attempts-longer =
    { $count ->
        [one] up to 1 attempt
       *[other] up to { $count } attempts, waiting 5 seconds longer each time
    }
attempts-twice-as-long =
    { $count ->
        [one] up to 1 attempt
       *[other] up to { $count } attempts, waiting twice as long each time
    }
goes-on = if it still fails, the run goes on without it
falls-back = if it still fails, { $agent } takes over

## In plain sentences: an agent

uses-no-skills = Uses no skills
may-use = May use { $skills }
uses-model = uses the model { $model }
agent-at-most = takes at most { $time }
checked-schema = checked: its output fits a JSON Schema
# $understood is how the rule is checked.
checked-rule = checked: “{ $rule }” ({ $understood })

## In drawings

all-in-parallel = all of { $count } in parallel
first-in-parallel = the first of { $count } in parallel
some-in-parallel = the first { $some } of { $count } in parallel
which-branch = which branch?
branch-if-to = if { $condition } → { $target }
branch-otherwise-to = otherwise → { $target }
otherwise = otherwise
if-condition = if { $condition }
or-condition = { $conditions }, or { $last }
for-each = for each of { $items }
at-once = { $agent }, at most { $most } at once
then-with-all = then { $agent } with all outputs
until-passed = { $agent } → { $validator }, and back until it passes
rounds =
    { $count ->
        [one] at most 1 round
       *[other] at most { $count } rounds
    }
after-steps = after { $steps }

## The dry run

dry-run = Dry run of { $workflow }: nothing runs.
questions = Questions to a person
estimate = Estimate
notes = Notes
not-given = not given
# After an input and a colon.
would-ask = would be asked for
# After the number of a stage whose steps run at the same time, or of which one is chosen.
in-parallel = ({ $count } in parallel)
one-of = (one of { $count })
step = { $step } ({ $kind }): { $title }
step-after = { $step } ({ $kind }): { $title }, after { $steps }
step-if-chosen = { $step } ({ $kind }): { $title }, if { $choice } leads here
skill = skill { $skill }: { $risk } risk
skill-asks = skill { $skill }: { $risk } risk, asks first
skill-denied = skill { $skill }: { $risk } risk, denied

## The dry run: the names of texts

every-output = every output so far
prompt-of = prompt of { $agent }
step-input = input
input-of = input of { $name }
arguments = arguments
step-inputs = inputs
items = items
question = question

## The dry run: what a person is asked

call-needs-approval = { $step }: the call of { $skill } ({ $risk } risk) must be approved
each-call-needs-approval = { $step }: each call of { $skill } ({ $risk } risk) must be approved

## The dry run: notes and the estimate

may-pause-for-agents = it may pause and ask whether to continue: up to { $most } agents, and the limit is { $limit }
may-pause-for-skill-calls = it may pause and ask whether to continue: up to { $most } skill calls, and the limit is { $limit }
unknown-items = the number of items of '{ $step }' isn't known; the estimate assumes 1 to 20
estimated-agents = agents
model-calls = model calls
skill-calls = skill calls
tokens = tokens
cost = cost
from-to = { $least } to { $most }
# To whoever runs the installation.
unknown-cost = unknown: no price is set for the model
no-model = none: there is no language model, so agents can't run

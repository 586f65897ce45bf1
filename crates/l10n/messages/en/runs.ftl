# Runs of workflows: what they ask, why they end, and their reports.

## A drafted workflow

run-it = Run it
save-it = Save it
run-and-save-it = Run and save it
discard = Discard
discarded = OK, discarded.
saved = Saved as { $path }. Run it with `/run { $name }`.
# Below the result of a draft that was run and not saved.
not-kept = I haven't kept this workflow. An owner can: send “/draft” with what it does, and choose “{ save-it }”.
# To people who asked for something "every week".
not-scheduled = It isn't scheduled yet. Once it's saved, say when, such as “every Monday at 8 run { $name }”.
not-repeated = It isn't scheduled, and runs once. To repeat it, say when and what, such as “every Monday at 8 sum up my week”.
# In a list of open questions. $workflow: its name.
draft-subject = Shall I run the draft “{ $workflow }”?
draft-gone = The draft is no longer stored.
draft-expired = Nobody answered in time, so I dropped the draft.
# To owners, who alone can save one.
no-folder = There's no folder for workflows yet. Whoever runs me can name one.
cannot-save = I couldn't save it as { $path }: { $why }

## A workflow that the person may not have meant

# What that is about, in a list.
run-subject = Run the workflow “{ $workflow }”
ask-to-run = Shall I run the workflow “{ $workflow }”? I'm not sure that you asked for this one.
leave-it = Leave it
not-run = OK, I haven't run it.

## An input that is missing

input = To run { $workflow }, I still need the { $input }.
input-described = To run { $workflow }, I still need the { $input }: { $description }
# $why: such as "the input 'days' isn't a number".
input-again =
    That doesn't work: { $why }

    I still need the { $input }.
input-again-described =
    That doesn't work: { $why }

    I still need the { $input }: { $description }
no-input = I got no value for “{ $input }” in time.

## Why a run didn't begin

refused = I can't run that: { $why }
# $problems: such as "days: must be a number; town: no such input".
refused-inputs =
    I can't run { $workflow } like that: { $problems }

    `/run` lists the workflows with their inputs.
needs-model = { $workflow } needs a language model; whoever runs me can add one with `adjutant init`.
no-workflow = there is no workflow '{ $name }'
no-workflow-but = there is no workflow '{ $name }'; did you mean '{ $nearest }'?
no-run = There is no run whose id begins with { $id }. `adjutant workflow runs` shows them.
several-runs = There are several runs whose id begins with { $id }. `adjutant workflow runs` shows them.
still-running = The run { $id } can't be rerun: it hasn't ended. Cancel it first.
results-gone = The run { $id } can't be rerun: the results of its steps are no longer kept.
no-step = The workflow '{ $workflow }' has no step '{ $step }'.
no-step-but = The workflow '{ $workflow }' has no step '{ $step }'; did you mean '{ $nearest }'?

## Lines of the progress

question = a question
workflow = the workflow { $name }

## Why a step failed

nobody-answered = nobody answered in time
out-of-time = it ran out of time
ended-as = it ended as { $status }
fallback-failed = { $reason }; { $fallback }, which took over: { $why }
too-few = only { $succeeded } of the { $enough } that are needed succeeded: { $reasons }
all-items-failed = every item failed
not-judged = it could not be judged: { $why }
no-verdict = it could not be judged: the judge gave no verdict

## Warnings

run-out-of-time = it ran out of time ({ $time })
skipped = { $worker } failed and was skipped: { $reason }
took-over = { $worker } failed ({ $reason }); { $fallback } took over
# $limit: what was used up.
ended-early =
    { $limit ->
        [tool_calls] { $worker } ended early: its tool calls were used up
        [model_calls] { $worker } ended early: its model calls were used up
        [tokens] { $worker } ended early: its tokens were used up
        [agents] { $worker } ended early: its agents were used up
        [cost] { $worker } ended early: its budget was used up
       *[time] { $worker } ended early: its time was used up
    }
only-partly = { $worker } did only part of it: { $why }
# A condition of a workflow.
unclear-condition = `{ $condition }` can't be evaluated ({ $why }), so it counts as false
round-not-judged = round { $round } could not be judged: { $reason }
not-passed =
    { $rounds ->
        [one] it had not passed after 1 round; the last version is used
       *[other] it had not passed after { $rounds } rounds; the last version is used
    }

## The first line of a report. $facts: such as "3 of 5 steps, 2 failed, 1 agent, 12.3 s".

complete = { $run } is complete: { $facts }
partial = { $run } is partly done: { $facts }
failed = { $run } failed: { $facts }
cancelled = { $run } was cancelled: { $facts }
waiting = { $run } is waiting for an answer: { $facts } so far
running = { $run } is running: { $facts } so far
# Instead of the name of a workflow.
the-plan = The plan
steps-done =
    { $total ->
        [one] { $done } of 1 step
       *[other] { $done } of { $total } steps
    }
steps-failed = { $count } failed
steps-skipped = { $count } skipped
agents =
    { $count ->
        [one] 1 agent
       *[other] { $count } agents
    }
retries =
    { $count ->
        [one] 1 retry
       *[other] { $count } retries
    }

## The rest of a report

step-waits = { $step } is waiting
step-failed = { $step } failed
step-failed-because = { $step } failed: { $reason }
no-output = There is no output.
# Above the file with the output. $size: such as "12 KB".
output = Output, { $size }
warnings = Warnings
run-again = To run it again from there: { $command }
more-lines = and { $count } more
more-steps =
    { $count ->
        [one] … and 1 more step
       *[other] … and { $count } more steps
    }

## The table of steps

step = step
agent = agent
status = status
time = time
tries = tries
size = size
status-running = running
status-waiting = waiting
status-done = done
status-failed = failed
status-skipped = skipped
status-cancelled = cancelled
status-to-do = to do

## A plan beside its result

plan-and-result = Plan and result
changes = Changed during the run, with your approval
# A line of the list.
step-result = { $step }: { $result }
step-result-by = { $step } ({ $agents }): { $result }
instead = instead: { $steps }
left-out = left out: { $steps }
not-reached = not reached
as-planned = done as planned
as-changed-plan = done as in the changed plan
done-not-reviewed = done, not reviewed
done-falls-short = done, but it falls short: { $reason }
again-as-planned = done again after the review, now as planned
again-not-reviewed = done again after the review, not reviewed
again-falls-short = done again after the review, but it falls short: { $reason }
retried-as-planned = done after more than one try, now as planned
retried-not-reviewed = done after more than one try, not reviewed
retried-falls-short = done after more than one try, but it falls short: { $reason }

## What it took. $spent: such as "3 model calls, 1,200 tokens, $0.0100".

model-calls =
    { $count ->
        [one] 1 model call
       *[other] { $count } model calls
    }
# $shown is the number as it is written, such as "1,200".
tokens =
    { $count ->
        [one] { $shown } token
       *[other] { $shown } tokens
    }
took = It took { $spent } in all.
took-planned = It took { $spent } in all (planned: { $least } to { $most } model calls).
took-planned-cost = It took { $spent } in all (planned: { $least } to { $most } model calls and { $least-cost } to { $most-cost }).

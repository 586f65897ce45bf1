# The web page: workflows and their runs.

none = There is no workflow.
no-runs = No workflow has run yet.
what-ran = What ran
all = All workflows

## A workflow

workflow = Workflow
drawing = Drawing
in-words = In words
run-it = Run it
# The button, and the title of a run's page.
run = Run
dry-run = Dry run
would-happen = What would happen
optional = (optional)
yes = Yes
no = No
fill-in = Fill in “{ $input }”.

## A run

starting = Starting
begins-soon = It begins in a moment.
look-again = Look again
output = What came out
steps = Steps
run-again-from = Run again from here
run-with-other-inputs = Run it with other inputs

# The web page: what happens at the moment.

questions = Waiting for you
running = Under way
# For an owner: a request of somebody else.
waits-for = waits for { $name }
answered = Answered lately
more-like-this = { $count } more like this

## What is due

due = Due
nothing-due = Nothing is due in the next days.
task = Task: { $title }
schedule = Schedule: { $text }

## Today's use against the budgets

today = Today
# $name is one of the four below.
budget = { $name }: { $used }
limited-budget = { $name }: { $used } of { $limit }
your-tokens = You, tokens
your-cost = You, cost
all-tokens = Everyone, tokens
all-cost = Everyone, cost

channels = Channels

# The web page: what happens at the moment.

questions = Waiting for you
running = In progress
# For an owner: a request of somebody else.
waits-for = waits for { $name }
answered = Recently answered
more-like-this = { $count } more like this
over-budget =
    { $count ->
        [one] { $count } request waits: a day's budget is used up. Shall I go on?
       *[other] { $count } requests wait: a day's budget is used up. Shall I go on?
    }
continue-all = Continue all
stop-all = Stop all
each-of-them = Each of them

## What is due

due = Due
nothing-due = Nothing is due in the next few days.
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

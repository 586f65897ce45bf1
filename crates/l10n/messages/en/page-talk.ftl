# The web page: the conversation, and a request with its steps.

conversation-of = Conversation of { $name }
older = Older messages
newest = Newest messages
nothing-said = Nothing was said here yet.

## Writing a message

message = Message
write-message = Write a message
send = Send

## A message

assistant = Assistant
# Stands beside an answer that grows.
writing = writing
undelivered = couldn't be delivered
delivery-unclear = delivery unclear
file = File { $name }
download = Download
plan-page = The plan on its own page
your-answer = Your answer
answer = Answer

## A request

request = Request
one-request = One request
# The two ways to look at a request, and its log.
views = Views
steps = Steps
timeline = Timeline
log = Log
stop = Stop
ask-again = Ask again
try-again = Try again
what-i-did = What I did
agents =
    { $count ->
        [one] { $count } agent
       *[other] { $count } agents
    }
skill-calls =
    { $count ->
        [one] { $count } skill call
       *[other] { $count } skill calls
    }
# $count is written with separators, such as 12,345.
tokens = { $count } tokens
attempts =
    { $count ->
        [one] { $count } attempt
       *[other] { $count } attempts
    }

## A step

orchestrator = Orchestrator
agent = agent
after = after { $names }
outside-text = outside text
outside-text-hint = It has read text from outside
nothing-ran = Nothing has run yet.
# The times are durations since the request began, such as 1.5 s.
since = since { $start }
from-to = from { $start } to { $end }
more-steps =
    { $count ->
        [one] { $count } more step
       *[other] { $count } more steps
    }

## The details of a step

details = Details
open = Open it
back = Back to the request
nothing-stored = Nothing was stored.
task = Task
input = Input
result = Result
data = Data
error = Error
allowed-by = Allowed by
from-outside = Text from outside
wishes = What you asked for
model-asked = Model call { $number } ({ $model }): asked
model-answered = Model call { $number }: answered
# The kinds of text that a model was given.
model-instructions = Instructions
model-message = Message
model-said = Said before
model-result = Result

# The web page: the conversation, and a request with its steps.

conversation-of = Conversation of { $name }
older = Older messages
newest = Newest messages
nothing-said = Nothing was said here yet.
# Which channels' messages are shown.
all-channels = All
today = Today
yesterday = Yesterday

# A group, where others read along.
in-group = { $channel }, group
# What `/web` is answered on the page itself.
here-already = You're on the page already. To open it on another device, send me `/web` in a private chat there.

## Writing a message

message = Message
write-message = Write a message
send = Send
attach = Attach files
# A button beside the name of a file that is to be sent.
remove = Don't send { $file }

speak = Speak
# The button above while it records, and before the time so far.
send-speech = Stop and send
recording = Recording
no-microphone = I can't use the microphone. Allow it for this page in your browser.

## A message

# Stands beside an answer that grows.
writing = writing
undelivered = couldn't be delivered
delivery-unclear = delivery unclear
# Stands beside a message of a person that the assistant hasn't read yet.
queued = queued
file = File { $name }
voice-note = 🎤 Voice note
download = Download
plan-page = The plan on its own page
your-answer = Your answer
answer = Answer

## What became of a question, in its message

approved = { $name } approved
rejected = { $name } rejected
chose = { $name } chose “{ $option }”
wrote = { $name } answered “{ $text }”
wanted-change = { $name } wanted a change: “{ $wish }”
let-go-on = { $name } let it go on
wanted-summary = { $name } asked for a summary
stopped-it = { $name } stopped it
withdrew = { $name } changed the subject, so it was dropped
silence-was-yes = Nobody stopped it in time
nobody-answered = Closed without an answer
# Stands for a person whose name was deleted.
somebody = Somebody
on-page = on the page
on-channel = on { $channel }

## A request

request = Request
one-request = One request
# Links to the page of one request, and to its log.
steps = All steps
log = Log
stop = Stop
# A screen reader reads this on the button above.
stop-this = Stop: { $request }
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
agents-done =
    { $count ->
        [one] { $done } of { $count } agent
       *[other] { $done } of { $count } agents
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
more-steps =
    { $count ->
        [one] { $count } more step
       *[other] { $count } more steps
    }

find-step = Find a step
# Which steps are listed.
all-steps = All
failed-steps = Failed
running-steps = Running
slow-steps = Slow
expensive-steps = Expensive

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

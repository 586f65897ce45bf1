# The answer to `/trace`: a drawing of what I did for a message.

request = Request { $id }
text-deleted = (the text was deleted at { $time } because it was old)
input-deleted = (the models' and skills' input was deleted at { $time } because it was old)
# $status: such as "completed". $duration: such as "1.20 s".
ended = { $status } in { $duration }
open = { $status } for { $duration }
skill-calls =
    { $count ->
        [one] 1 skill call
       *[other] { $count } skill calls
    }
model-calls-by =
    { $count ->
        [one] 1 model call ({ $models })
       *[other] { $count } model calls ({ $models })
    }
tokens = { $tokens } tokens ({ $cached } cached)
answer = Answer

## Columns

time = time
calls = calls
tokens-column = tokens
cost = cost

## Below a row

skipped = skipped: { $why }
# $limit: such as "tokens" or "tool_calls".
limit-reached = { $status }: { $limit } limit reached
waits-for-approval = waiting for approval
from-outside = from outside: { $sources }
# $name is that of an agent, $others are the agents whose results it needed.
after = { $name } after { $others }

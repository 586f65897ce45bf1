# `adjutant eval replay`: your own messages once more, with another model.

nothing = there is nothing to replay: no model has answered a message in that time, or its texts were deleted because they were old

## Below a request

# $call: a skill with its arguments.
added = added: { $call } (held back)
missing = missing: { $call }
changed = changed: { $call }
instead = { $skill } { $now } instead of { $then }
failed = failed: { $why }
endless = no answer after { $count } calls of the model
then = then
now = now

## The table at the end

journal = journal
turns = requests
same-turns = the same
same-calls = same calls
differing-calls = calls that differ
differing-answers = answers that differ
tokens-in = tokens in
tokens-out = tokens out
cost = cost
unpriced = { $usd } + unknown

# How requests end, and how far they have come.

## Headings of what was done

done = Done
not-done = Not done
still-open = Still open
not-finished = Not finished

## Endings

# Above what was done.
stopped = Stopped.
stopped-before-anything = Stopped. Nothing was done.
gave-up = Something went wrong three times, so I've given up on this message. Please try other words.

## The language model gave no answer

key-refused = I can't sign in to my language model. Please tell whoever runs me.
overloaded = My language model is overloaded or its quota is used up. Please try again in a few minutes.
unreachable = I can't reach my language model right now. Please try again in a few minutes.
too-slow = My language model took too long. Please try again.
refused = My language model refused this request. Please try other words.
no-model = That needs a language model; whoever runs me can add one with `adjutant init`.
unusable = My language model gave no usable answer. Please try again, perhaps in other words.

## Why a part wasn't done

budget-used-up = not finished: the budget doesn't cover the next step
# $needed: what the part does that this one needs.
needs-failed = it needs “{ $needed }”, which failed
needs-late = it needs “{ $needed }”, which took too long
needs-skipped = it needs “{ $needed }”, which was skipped
needs-stopped = it needs “{ $needed }”, which was stopped
needs-partial = it needs “{ $needed }”, which is only partly done
needs-unknown = it needs “{ $needed }”, which may or may not have worked
needs-done = it needs “{ $needed }”, which is done
needs-open = it needs “{ $needed }”, which isn't done

## It may have been done

interrupted = it may or may not have happened: I was interrupted in the middle. I won't repeat it, so please check
# $reason: why nobody knows.
unknown-outcome = { $reason }; it may or may not have happened. I won't repeat it, so please check

## Progress

# Above a list of agents.
working = Working on it…

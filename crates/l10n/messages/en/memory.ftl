# What is remembered of a person: receipts, results and errors.

## Remembering

remembered = I'll remember: { $text }

## What is remembered

recalled = I remember: { $text }
# The memories follow, a line each.
recalled-several = I remember:
newest =
    { $count ->
        [one] The newest thing that I remember; there are more:
       *[other] The newest { $count } things that I remember; there are more:
    }
# Messages follow, a line each.
said-before = Said before:
said-and-answered = { $message } (I answered: “{ $answer }”)
nothing-yet = I don't remember anything yet
nothing-about = I don't remember anything about “{ $query }”

## Forgetting

forgotten = Forgotten: { $text }
# The memories follow, a line each.
forgotten-several = Forgotten:
forgotten-messages =
    { $count ->
        [one] Forgotten: what was said about “{ $query }” (1 message)
       *[other] Forgotten: what was said about “{ $query }” ({ $count } messages)
    }
# What stays of the memories follows, a line each.
still-remembered = Still remembered:
# Other memories follow, a line each.
also-meant = Still remembered; forget them by their IDs if they are meant, too:
# What is asked about. $memories: each in quotes, and how many messages say it.
forget = Forget: { $memories }
# After the memories, in the question whether to forget them.
messages-that-say-it =
    { $count ->
        [one] 1 message that says it
       *[other] { $count } messages that say it
    }

## Errors

no-text = /text: say what to remember
too-long = this is too long to remember: { $length } characters, and the limit is { $limit }. Say what matters in a few sentences, or keep it as a file or a note
secret = that looks like a password, a key or a card number. I don't store those; please use a password manager
no-such-memory = no memory here has the ID { $id }; memory.search shows IDs, or leave `replaces_id` out
# A model reads it.
same-topic = since { $day } I remember: “{ $memory }” [{ $id }]. If the person hasn't said which is true now, ask. With replaces_id = { $id } the new one takes its place; with replaces_id = none both stay
nothing-to-forget = I don't remember anything about “{ $query }”, so there is nothing to forget
nothing-to-forget-but =
    I don't remember anything about “{ $query }”, so there is nothing to forget. If one of these is meant, forget it by its ID:
    { $memories }

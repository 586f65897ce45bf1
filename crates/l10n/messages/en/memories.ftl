# What I remember of a person: `/memories` and `/forget`.

## The list

remembered-in-room = I remember for this chat:
nothing = I don't remember anything yet. Tell me what to remember, such as: remember that Bob prefers mornings.
nothing-in-room = I remember nothing for this chat. To see what I remember about you, write to me directly.
# The preferences follow.
preferences = Your preferences, the newest of which I always keep in mind:
# Whatever isn't a preference follows, below those.
others = I also remember:
more = There's more: `/memories { $page }`
told = { $number }. { $memory } (you told me on { $day })
written = { $number }. { $memory } (from what you wrote on { $day })
quoted = { $number }. { $memory } (from what you wrote on { $day }: “{ $quote }”)

## Forgetting

no-such-memory = I don't have that memory here. Send `/memories` to see what I remember, each with a button to forget it.
# One memory follows.
forget-this = Should I forget this?
# Several memories follow.
forget-which = Which of these should I forget?
# Buttons.
forget = Forget { $number }
forget-past = Forget old version { $number }
forgotten = Forgotten: { $memory }
still-remembered = Still remembered: { $memory }
messages-forgotten =
    { $count ->
        [one] I also forgot 1 earlier message that mentions it.
       *[other] I also forgot { $count } earlier messages that mention it.
    }

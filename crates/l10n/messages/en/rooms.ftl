# Chats of the platforms: their messages and people, and posts into them.

## Asking before something is posted

# The text follows, in a box of its own.
post-preview =
    Post to { $place } ({ $platform }):
    - text:

## Receipts

posted = Posted to { $place } ({ $platform })

## Names of chats and authors

# The chat of the conversation, such as after "messages in".
here = this chat
# The author of my own messages.
me = me
# The author of a message, in a list of messages of several chats.
author-in = { $author } in { $place }

## Lists of messages: they follow, a line each

messages =
    { $count ->
        [one] 1 message in { $place }:
       *[other] { $count } messages in { $place }, the newest last:
    }
no-messages = There are no messages in { $place }
no-messages-then = There are no messages in { $place } from that time
thread-messages =
    { $count ->
        [one] 1 message of the thread in { $place }:
       *[other] { $count } messages of the thread in { $place }, the newest last:
    }
no-thread-messages = There are no messages of the thread in { $place }
# $authors: each with the number of their messages.
messages-from-to =
    { $count ->
        [one] 1 message in { $place }, from { $first } to { $last } (by { $authors }):
       *[other] { $count } messages in { $place }, from { $first } to { $last } (by { $authors }):
    }
found =
    { $count ->
        [one] 1 message:
       *[other] { $count } messages, the newest last:
    }
found-last =
    { $count ->
        [one] 1 message, the last { $shown }:
       *[other] { $count } messages, the last { $shown }:
    }
found-nothing = I found no message about “{ $query }”
# Where there are more messages, or more chats, than were searched.
searched =
    { $chats ->
        [one] (I searched the newest { $messages } messages there.)
       *[other] (I searched the newest { $messages } messages in { $chats } chats; there may be more.)
    }
no-history = (This platform shows me no history, so this is only what was said to me.)
# A message with answers of its own.
with-replies =
    { $count ->
        [one] { $message } (1 reply, thread { $thread })
       *[other] { $message } ({ $count } replies, thread { $thread })
    }

## Errors

no-platform = no chat platform is connected
which-platform = /place: say on which platform, such as { $platform }:general ({ $platforms })
which-chat = /place: name the chat, such as #general
several-chats = /place: there are several: { $chats }. Say which one, by its ID
no-chat = there is no chat “{ $name }” on { $platform } that we are both in
unknown-account = I don't know your account on { $platform }, so I can't tell what you may read there. Write to me there and send `/link`
nobody = I see nobody called “{ $name }” on { $platform }

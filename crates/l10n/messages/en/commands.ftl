# Answers to slash commands, and letting people in.

## /help

# $commands: one a line, with what each does.
help =
    Say what you need, for example:

    - add a task to send the report by Friday 5pm
    - what is overdue?
    - mark the report as done, then show what is left
    - remember that Bob prefers mornings

    {"*"}*Commands**
    { $commands }
unknown-command = I don't know `{ $command }`. Send `/help` to see what I understand.
# $similar: the command that the person may have meant.
misspelt-command = I don't know `{ $command }`. Did you mean `{ $similar }`? Send `/help` to see what I understand.

## /new, /stop, /pause, /trace

fresh-start = OK, starting fresh. I'll ignore everything above. Your tasks and memories stay.
stopping = Stopping.
# What waited has its own message that says that it is stopped.
nothing-else-runs = Nothing else is running.
nothing-runs = Nothing is running.
nothing-of-yours = You have nothing running here. Only the person who asked can stop their request.
pausing = Pausing. I'll finish what's running, then ask whether to go on.
nothing-to-trace = There's nothing to trace here yet.

## /status

nothing-runs-or-waits = Nothing is running or waiting.
running =
    { $count ->
        [one] I'm working on { $count } request.
       *[other] I'm working on { $count } requests.
    }
# Requests whose questions aren't asked here.
waiting =
    { $count ->
        [one] { $count } request is waiting for an answer.
       *[other] { $count } requests are waiting for an answer.
    }
# $questions: one a line. $how: how to answer the first.
open-questions =
    { $count ->
        [one] { $count } question is waiting for you:
       *[other] { $count } questions are waiting for you:
    }
    { $questions }

    { $how }

## Letting people in

# To somebody who isn't allowed yet. The code stays on a line of its own, the last.
stranger =
    Hi! I only talk to people my owner has let in. Ask my owner to approve this code within the hour, and I'll answer your message. If I'm your own bot, run `adjutant pair approve { $code }`.

    { $code }
paired = { $name } can talk to me now.
# Somebody without a name.
paired-unnamed = They can talk to me now.
unknown-pairing-code = That code is unknown or has expired. The person can message me again to get a new one.
pair-how = Send `/pair` with the code that the person got from me, such as `/pair ABCD-EFGH`.
not-an-owner = Only my owners can let people in.

## Commands that are only for direct chats

in-private = Please send me `{ $command }` privately; other people can read this chat.
answered-privately = I've answered that in our direct chat.

## /link

link =
    Send me this from your other account within ten minutes to link the two:

    `/link { $code }`
linked = Done. Your two accounts are linked: I treat them as one person, with shared tasks and memories.
unknown-link = That code is unknown or has expired. Send `/link` from the other account to get a new one.

## /web

# $address: the page's.
page-link =
    Open this within five minutes. It works once, so don't pass it on:

    { $address }
no-page = There's no web page. Whoever runs me can turn it on.

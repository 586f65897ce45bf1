# The chat in a terminal.

## Hints

greeting =
    { $name } is ready, using { $model }.
    Say what you need, or type /help. Ctrl-C stops a request, /quit leaves.
# Without a language model.
greeting-in-basic-mode =
    { $name } is ready in basic mode: to-do list, reminders, calendar, contacts. To talk freely, run `adjutant init` and add a language model.
    Say what you need, such as “remind me to call Bob tomorrow at 9”, or type /help. Ctrl-C stops a request, /quit leaves.
# Below the greeting. $address: where the language model should answer.
model-is-down = Nothing answers at { $address }, where my language model should run. Please start it; Ollama starts with `ollama serve`.
# Above the help for all chats.
quit-leaves = In this terminal, /quit leaves the chat.
press-again = Press Ctrl-C again or type /quit to leave.

## Progress

# Beside an agent that asked the person something.
waits-for-you = waits for you
# $names: the agents that an agent waits for.
after = after { $names }

## What can't be sent

not-utf8 = The line is not valid UTF-8 (byte { $place } is wrong). Send the text in UTF-8.
text-too-long = The text has { $length } characters; at most { $limit } are allowed. Send it in several messages.
line-too-long = The line is longer than 1 MiB; it was skipped. Send it in several messages.
unreadable-input = The rest of the input can't be read: { $error }. Start again.
unreadable-file = { $path } can't be read: { $error }. Check the path.
not-a-file = { $path } isn't a file. Name a file.
name-a-file = Name a file: /attach PATH, and then, if you like, a message.

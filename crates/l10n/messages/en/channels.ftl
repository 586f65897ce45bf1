# The chat platforms: names that the adapters make, answers to commands, and why a chat can't be read.

## Who wrote something, where the platform doesn't say

somebody = somebody on { $platform }
some-app = an app on { $platform }
# The name of an enclosed message, among the names of files.
message-by = message from { $author }

## Names of chats

channel-in-server = #{ $channel } in { $server }
direct-conversation = the direct conversation with { $names }

## Answers to Slack's slash commands

command-accepted = I'm on it. I'll answer here, and only you will see it.
command-accepted-for-now = I'm on it. I'll answer here, and only you will see it. If it takes longer than half an hour, I'll send you the answer as a direct message.
command-started = Started `{ $command }`. I'll answer here, and only you will see it. If it takes longer than half an hour, I'll send you the answer as a direct message.
# Above an answer that comes as a direct message.
late-answer = The answer to your command:
late-answer-to = The answer to `{ $command }`:

## Why a chat can't be read

# These follow a colon. $reason is what the platform says.
not-a-channel = “{ $text }” is not a { $platform } channel
not-shown = { $platform } doesn't show this ({ $reason })
fewer-calls = the platform asks me to slow down
telegram-not-a-chat = “{ $text }” is not a Telegram chat
telegram-no-chat = I have no such chat
telegram-not-in-chat = I'm not in this chat ({ $reason }); add me to the group, or write to me first
telegram-hides-members = Telegram shows the members of this group only to administrators; make me one
telegram-refuses = Telegram doesn't let me see this ({ $reason })
discord-no-channel = Discord has no such channel
discord-no-thread = this channel has no such public thread; for a private one, give its own ID
discord-refuses = Discord doesn't let me read this ({ $reason }). Give my role the permissions View Channel and Read Message History there.
slack-no-channel = Slack shows me no such channel; if it is private, send /invite and my name there
slack-not-in-channel = I'm not in this Slack channel; send /invite and my name there
slack-no-thread = Slack has no such thread in this channel
slack-no-thread-called = Slack has no thread “{ $thread }”
slack-too-many-members = this channel has too many members to check
slack-refuses = Slack doesn't let me read this ({ $reason })

## At the set-up

# To the owner, as soon as they have said that it is them. $name: theirs.
hello-owner = Hi { $name }! I'm connected, and you're my owner. I'll answer as soon as I'm started.

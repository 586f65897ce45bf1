# The rules of a conversation, and its answers aloud.

## What a rule allows without a question: "Allowed: emails to bob@example.org"

allows-emails = emails to { $address }
allows-events = new events in your calendar
allows-events-in = new events in “{ $calendar }”
allows-events-in-of = new events in “{ $calendar }” of your account “{ $account }”
allows-events-of = new events in your account “{ $account }”
allows-notes = notes under { $folder }
# $skill: a name such as "crm.update". $arguments: JSON.
allows-call = { $skill } with exactly these arguments: { $arguments }

## Answers that are spoken

# The last words where only the beginning of an answer is said.
rest-is-written = The rest is in the text.

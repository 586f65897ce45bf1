# MCP servers: how they stand, what their tools bring, and what can go wrong. What they ask is in asked.ftl.

## How a server stands

starting = starting
running = running
stopped = stopped until it is needed
fails = doesn't work: { $why }

## What a tool brings

nothing-said = { $server } finished without a message.
picture = [a picture, { $media-type }, { $bytes } bytes]
recording = [a recording, { $media-type }, { $bytes } bytes]
file = [a file, { $address }, { $bytes } bytes]
file-with-secret = I didn't keep a file in it: my own key for that server is in there.
link = [a file: { $name } { $address }]
unknown-content = [content of an unknown kind]

## How far a call is, in front of what the agent is at. $words: the server's.

progress-share = { $percent }%
progress-words = “{ $words }”

## Buttons under a server's question

yes = Yes
no = No
done = Done
decline = Decline
skip = Skip

## The field that a server asks for: its name and what it is for are the server's words

field-between = { $field } ({ $low } to { $high })
field-from = { $field } (at least { $low })
field-to = { $field } (at most { $high })
field-characters-between = { $field } ({ $low } to { $high } characters)
field-characters-from = { $field } (at least { $low } characters)
field-characters-to = { $field } (at most { $high } characters)
# An option that the server suggests, in a list.
suggested = { $option } (suggested)

## Why an answer doesn't fit, after "That doesn't work:"

neither-yes-nor-no = “{ $words }” is neither “yes” nor “no”
neither-done-nor-no = “{ $words }” is neither “done” nor “no”
not-whole-number = “{ $words }” isn't a whole number
not-number = “{ $words }” isn't a number
not-in-list = “{ $words }” isn't in the list
no-such-option = there's no such option
not-email = that isn't an email address
not-web-address = that isn't a web address, such as https://example.org
not-date = write the date as 2026-11-23
not-time = write the time as 2026-11-23T10:15:00+01:00

## Why nobody is asked

question-unasked = { $server } asked something I can't pass on: { $why }
# $error: how the call failed. $why: one of those below.
question-declined = { $error }. Its question was declined: { $why }
asks-too-often = the MCP server { $server } asked more than { $count } times during one call, so I stopped there
asks-too-much = it asks for { $count } things at once; { $limit } is the limit
asks-secret = it asks for a password or a key, which the protocol forbids in a chat
asks-unsupported = it asks in a way that isn't supported
asks-for-folders = it asks for folders, and it gets none
asks-for-model = it asks for a model, and it gets none
asks-many-questions = it asks { $count } questions at once; { $limit } is the limit
state-too-long = it wants me to keep more than 64 KB for it
names-no-page = it doesn't say which page to open
names-many-pages = it asks to open { $count } pages; { $limit } is the limit
address-unreadable = it asks to open something that isn't a web address
address-insecure = it asks to open an address that doesn't begin with https://
address-disguised = it asks to open an address that hides its host behind a user's name
address-too-long = it asks to open an address that is too long to be shown
nobody-here = it has to be answered while the call runs; use `adjutant chat` or a channel for that

## Errors of calls

no-server = there is no MCP server { $server } in the configuration
answered = the MCP server { $server } answered: { $words }
failed-silently = the MCP server { $server } answered: it failed and doesn't say why
answered-with-task = the MCP server { $server } answered with a task, which isn't supported
page-not-opened = the MCP server { $server } wants a page opened first, and it wasn't
connection-gone = the connection in which the MCP server { $server } asked is gone, so the answer can't reach it. Nothing was called again
tool-gone = the MCP server { $server } has no tool { $tool } anymore
tool-changed = the MCP server { $server } has changed its tool { $tool } since it was approved. An owner can look at the difference with `adjutant mcp approve { $server }`
list-late = the MCP server { $server } didn't list its tools within { $duration }
flooded = the MCP server { $server } has written more than 32 MB, so it was stopped
not-of-protocol = the MCP server { $server } sent a reply that doesn't follow the protocol
ended = the MCP server { $server } stopped in the middle of the call
# $words: the last that the program wrote.
ended-with-words = the MCP server { $server } stopped in the middle of the call: { $words }
# $why: one of those below.
paused = the MCP server { $server } doesn't work: { $why }. It's tried again in { $duration }
unusable = the MCP server { $server } can't be used: { $why }
login-rejected = the MCP server { $server } rejects my credential; log in again with `adjutant oauth login { $login }`
login-missing = the MCP server { $server } wants a login. An owner can do it with `adjutant mcp login { $server }`
login-ended = the MCP server { $server } doesn't accept my login anymore. An owner can log in again with `adjutant mcp login { $server }`
credential-rejected = the MCP server { $server } rejects my credential. Whoever runs me can set one up
login-too-narrow = the MCP server { $server } wants a login that allows more. An owner can log in again with `adjutant mcp login { $server }`, which asks for it
credential-too-narrow = the MCP server { $server } wants a credential that allows more. Whoever runs me can set one up

## Why a server doesn't work

why-list-late = it didn't list its tools in time
why-flooded = it has written more than 32 MB, so it was stopped
why-not-of-protocol = it sent a reply that doesn't follow the protocol
why-ended = it stopped in the middle of a call
# $words: the last that the program wrote.
why-ended-with-words = it stopped in the middle of a call: { $words }
why-start-late = it didn't start within { $duration }
why-token = the token of its login can't be sent
why-answered = it answered: { $words }
why-unknown-revision = it speaks no revision of the protocol that I know
why-ended-early = it ended before it answered
without-network = { $why } (it has no network; `network = true` would give it one)

# What the MCP server of a call wants to know before it goes on.

# $call: what the call does.
asks = Before it goes on with “{ $call }”, the MCP server { $server } asks:
asks-again = That doesn't work: { $reason }. { $server } still wants to know:
# Below the server's words.
not-from-me = (This text comes from the server, not from me.)
# In a list of open questions. $words: the beginning of the server's.
subject = { $server } asks: { $words }

## How to answer

confirm = Press a button, or reply with “yes” or “no”.
choose = Press a button, or reply in your own words.
write = Your reply goes to the server word for word.
write-several = Reply with one or more of these, separated by commas.
# "default" is what the person writes.
default = `default` stands for { $value }.
decline = `decline` gives no answer.
skip-or-decline = `skip` leaves it out, and `decline` gives no answer.
open-page =
    It wants you to open this page on { $host }:

    <{ $address }>

    I won't open it. Press Done when you're finished there, or Decline.

# The web page: signing in.

# In markdown.
how-to = Send `/web` to the assistant in any chat, or run `adjutant web login` on its machine. You get a link that works once, for five minutes.
code = Code
too-many-codes = Too many wrong codes. Wait a minute.
unknown-code = That code is unknown, was used already or has expired. Send /web again to get a new link.

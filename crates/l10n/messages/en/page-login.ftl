# The web page: signing in.

# In markdown.
how-to = Send `/web` to the assistant in any chat, or run `adjutant web login` on its machine. You get a link that works once, for five minutes.
code = Code
# The address has only a part of the code.
cut-link = That link isn't complete. Copy all of it.
you-left = You're signed out.
# To a browser that was signed in.
signed-out = You're no longer signed in: your sign-in has expired, or was ended elsewhere.
too-many-codes = Too many wrong codes. Wait a minute.
# A link for another person, in a browser where somebody is signed in. $own and $name are two people.
somebody-else = You're signed in as { $own }. This link signs you in as { $name }: what you write after that is theirs. Go on only if you asked for the link.
switch-to = Go on as { $name }
stay = Stay { $own }
unknown-code = That code is unknown, was used already or has expired. Send /web again to get a new link.

# The web page: the people, and a person's account.

looks-are-logged = Looking at somebody else's conversation is logged.
# A link to the settings.
who-may = Change who may write, and who is an owner
no-name = (no name)
# Behind a person.
owner = owner

## The account

you-are = You are { $name }.
browsers = Browsers
signed-in = These browsers are signed in as you. Sign out any you don't recognize.
unknown-browser = Unknown browser
# Such as: Chrome on Linux.
browser-on = { $browser } on { $system }
this-one = this browser
# How it was signed in.
by-passkey = with a passkey
since = since { $time }
last-used = last used { $time }

# The web page: a person's accounts at providers of mail, calendars and contacts.

title = Connected accounts
none = You haven't connected an account yet.
connect = Connect an account
# Behind the button above.
connect-hint = Your conversation opens, with a link to the provider.

## One account

# $provider: such as “Google”. $services: such as “email and calendar”.
about = { $provider }: { $services }
needs-login = Needs a new login. Until then I can't use it.
log-in-again = Log in again
# A link to the provider's own page, where somebody logs in by a password.
app-password-help = How to make an app password
shared = Shared with others; only an owner can change it.
last-used = Last used { $time }
for-request = for this request
never-used = Not used yet
disconnect = Disconnect
name = Name
rename = Rename
default-mail = Emails are sent from here.
make-default-mail = Send emails from here
default-events = New events go here.
make-default-events = Put new events here
busy = Calendars that count as busy, separated by commas; leave it empty for all
busy-save = Save

## What wasn't accepted

# $limit: the most characters.
bad-name = A name has 1 to { $limit } characters.
name-taken = You already have an account with that name.
gone = This account was disconnected, or it isn't yours.

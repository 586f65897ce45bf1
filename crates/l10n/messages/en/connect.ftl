# Accounts at providers of mail, calendars and contacts: connecting them, listing them, disconnecting them.

## Names

google = Google
microsoft = Microsoft
# Any other provider: iCloud, Fastmail, Yahoo and so on.
other-provider = Another provider
mail = email
calendar = calendar
contacts = contacts
# $first: such as "email, calendar".
and = { $first } and { $last }

## /connect

not-set-up = I can't connect accounts yet. My owner has to add `[connect]` to my configuration first, as `docs/connect.md` shows.
not-for-you = Only people my owner has chosen can connect accounts here.
which = What do you use? I'll connect your email, calendar and contacts; nobody else can use them. My owner can see on my web page what we talk about, including what I read there.
# $provider: a name such as "Google".
not-offered = I can't connect { $provider } here.
# $provider: a name such as "Google". $link: an address.
link =
    Open this to connect your { $provider } account. It works once, for five minutes, and only for you:

    { $link }
# Where there is no web page. $link: an address, in marks that keep chats from taking a part of it for markup.
paste =
    Open this and sign in within five minutes. At the end your browser can't open the page; that's expected. Copy the address it shows and send it to me:

    <{ $link }>
# $page: an address. $code: what is typed there.
device = Open { $page } within five minutes, type the code `{ $code }` and sign in. I'll tell you when it's done.
# $link: an address.
form =
    Enter your address and an app password here. The link works for five minutes:

    { $link }
at-the-machine = Passwords don't belong in a chat, and I have no web page to ask you on. Somebody at my machine can add your account with `adjutant account add`.
no-passwords = Please don't send me passwords; I haven't kept your message. Use the link I sent you, or send `/connect` for a new one. If that was your real password, change it; if it wasn't one, say it in other words.
checking = Thanks, I'm signing in.
over = That login is over. Send `/connect` to start again.

## How it ended

# $address: an email address. $services: such as "email and calendar".
connected = ✓ Connected { $address }: { $services }. It's called “{ $label }”, and only you can use it.
reconnected = ✓ { $address } is connected again: { $services }.
# What the person didn't allow. $services: such as "contacts".
missing = You didn't allow { $services }; connect it again to add that.
# Of an account by password: what its servers don't do.
unavailable = I couldn't reach { $services } there.
nothing-allowed = You didn't allow email, calendar or contacts.
declined = You didn't allow it, so I've connected nothing. Send `/connect` to try again.
# $why: a sentence about the failure.
failed =
    That didn't work, and I've connected nothing: { $why }

    Send `/connect` to try again.
# $provider: a name such as "Google". $refusal: in its own words.
provider-refuses = { $provider } doesn't allow it ({ $refusal }).
no-code = { $provider } gave me no code for you.
interrupted = I was interrupted while signing in, so I've connected nothing. Send `/connect` to try again.
other-account = You signed in as { $address }, but that login is for { $expected }.
somebody-else = Somebody else tried to finish your login, so I stopped it and connected nothing. Send `/connect` to start again.
not-yours = That login is somebody else's, so I've connected nothing.
no-address = { $provider } doesn't say whose account it is.
no-token = { $provider } gave me no token that I can use.
too-many-attempts = That's too many attempts. Try again in an hour.
no-such-address = “{ $address }” isn't an email address.
wrong-password = The server for { $address } doesn't accept that password. Most providers want an app password, not the one you sign in with.
# $page: where an app password is made.
wrong-password-at = The server for { $address } doesn't accept that password. It wants an app password, which you make here: { $page }
no-server = I found no server for { $address } that I can use.

## A login that has ended

# $label: the account's name. $address: an email address.
login-ended = I can't get into “{ $label }” ({ $address }) anymore: its login has ended. Log in again and I'll go on.
# Behind it, for an application that Google regards as being tested.
login-ended-testing = If that happens every week: while my project at Google is in testing, logins end after seven days. My owner can change that.
log-in-again = Log in again
# The options of a question that waits for it.
done = Done
skip = Skip it

## /accounts

no-accounts = You have no accounts connected. Send `/connect` to add one.
your-accounts =
    Your accounts:

    { $accounts }
account-line = “{ $label }”, { $address }: { $services }
# Behind a line.
is-shared = shared
is-configured = set in the configuration
needs-login = needs a new login
sends-mail = sends your email
takes-events = gets your new events
# $label: the account's name.
disconnect-question = Disconnect “{ $label }” ({ $address })? I'll end its login at the provider, and erase here the login and what my watches found in it. What's in our conversations stays; to delete some of it, say “forget what I said about” and the subject.
connect-another = Connect another
disconnect = Disconnect
use-for-mail = Send email from it
use-for-events = Put events there
disconnected = ✓ Disconnected “{ $label }” ({ $address }), and erased its login and what my watches found in it. What's in our conversations stays; to delete some of it, say “forget what I said about” and the subject.
no-such-account = You have no such account. Send `/accounts` to see them.
not-owned = “{ $label }” is shared; only my owner can change it.
shared-is-no-default = “{ $label }” is shared, so it can't be your default. Name it when you want me to use it.
now-sends = ✓ I'll send your email from “{ $label }” unless you say otherwise.
now-takes-events = ✓ I'll put your new events into “{ $label }” unless you say otherwise.
renamed = ✓ “{ $label }” is now “{ $name }”.
label-taken = You have another account called “{ $name }”.
rename-how = Send `/accounts rename private work` to call “private” “work”.

## The web page

page-title = Connect an account
# $person: a name. $provider: such as "Google".
page-about = This connects an account at { $provider } to the assistant, for { $person } alone. Go on only if that's you.
page-form-about = This connects an account to the assistant, for { $person } alone. Go on only if that's you. Use an app password, which your provider lets you make in its security settings.
page-go-on = Sign in
page-address = Email address
page-password = App password
page-connect = Connect
page-gone = This link was used already or has expired. Send /connect to the assistant for a new one.
page-other-browser = This login belongs to another browser or person, so nothing was connected. Send /connect to the assistant for a link of your own.
page-close = You can close this page.

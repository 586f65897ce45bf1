# The web page: what all its pages share, and what it says when something isn't there or wasn't accepted.

## The navigation, also the headings of its pages

skip = Skip to the content
pages = Pages
# Opens the rest of the navigation on a phone.
more = More
now = Now
conversation = Conversation
plans = Plans
workflows = Workflows
accounts = Accounts
search = Search
# A person's own tasks, schedules and memories.
yours = Yours
usage = Usage
people = People
system = System
settings = Settings
account = Account
sign-in = Sign in
sign-out = Sign out
# The link of a page that only leads to the next one.
go-on = Go on

# Which channels' messages are shown.
channels = Channels

## How something stands

pending = to do
running = running
waiting = waiting for you
done = done
partial = partly done
failed = failed
stopped = stopped
unclear = unclear

## Words of several pages

copy = Copy
copied = Copied
# A button: there are newer messages further down.
new-below = New messages ↓
# $number is filled in by the script.
characters-left = Characters left: { $number }
characters-over = Characters over the limit: { $number }
# What a filter has left. $number is filled in by the script.
found = Found: { $number }
connection-lost = The connection is interrupted. I'll keep trying.
# $limit: how many files.
too-many-files = A message takes at most { $limit } files.
# While a message or an answer is on its way for long.
sending = Sending…
not-arrived = That didn't arrive. Try again.
for-person = for { $name }
used-of = { $used } of { $limit }

## What wasn't accepted

not-accepted = Not accepted
not-done = Not done
not-stopped = Not stopped
not-asked-again = Not asked again
not-found = Not found
nothing-here = There is nothing here, or it isn't yours to see.
form-out-of-date = This form is out of date. Go back, reload the page and try again.
row-has-changed = It has changed or is gone, or I can't use what you typed. Go back and reload the page.
write-something = Write something, at most { $limit } characters.
cannot-stop = It has ended already, or it isn't yours to stop.
cannot-ask-again = It was asked again already, it is still running, or it isn't yours.

## Answers without a page around them

unknown-address = This page is not known under that address. Check public_url in [channels.web].
sign-in-first = Sign in first.
too-long = That is too long.
too-many-waiting = Too many of your files aren't sent yet. Send some, or try again later.
too-slow = That took too long.
unavailable = The assistant can't answer right now. Try again in a moment.

# What slash commands do, in /help and where a chat platform lists them. At most 100 characters each.

help = Show what I can do
new = Start fresh, ignoring what was said before
stop = Stop what I'm doing
undo = Undo what I did last
status = See what's running and waiting
answer = Answer an open question by its number
plan = Plan a bigger goal (you approve the steps)
spawn = Run something in the background
run = Run a workflow, or list them
draft = Turn your description into a workflow
pause = Pause what I'm doing; “continue” resumes it
memories = See and delete what I remember about you
forget = Forget something I remember
watches = See what I'm watching for you, and stop it
rules = See what you've allowed me to do without asking
room = Set when I answer in a room, and whom
mine = Review what I created from other people's messages
trace = See what I did for your last message
connect = Connect your email, calendar and contacts
accounts = See your connected accounts, or disconnect one
link = Link your accounts on different platforms
web = Open your conversations as a web page
pair = Let somebody in (owners only)

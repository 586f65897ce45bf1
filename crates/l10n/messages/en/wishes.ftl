# What a person asked for, in the trace: "You asked for: a new task “milk”, an email (up to 2)".

asked-for = You asked for: { $wishes }
nothing = You asked for nothing but an answer
read-too-late = What you asked for couldn't be read in time
model-failed = What you asked for couldn't be read: the model failed
nonsense = What you asked for couldn't be read: the model's answer made no sense

# $wish is one of those below.
all = { $wish } (as many as there are)
up-to = { $wish } (up to { $count })

## What it can be

task-create = a new task
task-change = a changed task
task-delete = a deleted task
event-create = a new event
event-change = a changed event
event-delete = a deleted event
mail-send = an email
mail-reply = an answer to an email
mail-forward = a forwarded email
mail-draft = a draft
mail-sort = moving or marking an email
contact-create = a new contact
contact-change = a changed contact
memory-save = a new memory
memory-forget = a forgotten memory
schedule-create = a new schedule
schedule-change = a changed schedule
schedule-delete = a deleted schedule
watch-create = a new watch
watch-change = a changed watch
note-write = a note
post-send = a post
page-open = an opened page
web-search = a web search
undo = an undo
workflow-run = a workflow
tool-use = the use of a service

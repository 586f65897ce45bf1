# Where a text of somebody else comes from, after "from": "a new task, from the file “list.csv” that Bob sent".

sent-file = the file “{ $file }” that { $name } sent
forwarded-message = a forwarded message from { $name }
room-message = a message by { $name } in this chat
# Stands for all others where there are too many to name.
other-texts = other texts from outside
email = the email “{ $subject }” from { $sender }
draft = the draft “{ $subject }”
note = the note “{ $note }”
event = the event “{ $title }”
contact = the contact “{ $name }”
page = the page { $address }
# $service: the skills that fetched the file.
service-file = the file “{ $file }” from “{ $service }”
server = the MCP server “{ $server }”
# $skill: what a call does, in a few words.
result = the result of “{ $skill }”
error = the error of “{ $skill }”

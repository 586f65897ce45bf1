# Email: what is asked before one is sent, receipts, results and errors.

## Asking before one is sent

preview = Send this email to { $to }: “{ $subject }”
# A draft that isn't to anybody yet.
preview-to-nobody = Send this email: “{ $subject }”
preview-as-file = Save this email to { $to } as a file (no email account is set up): “{ $subject }”
# Of a person with several accounts.
preview-from = from: { $address } ({ $label })
preview-cc = cc: { $recipients }
preview-bcc = bcc: { $recipients }
preview-attachments = attachments: { $files }
# Above the text of the email, which follows on a line of its own.
preview-text = text:
# Why it is asked, after "Note: ".
replaces-draft = it replaces a draft that I didn't write
draft-changed = this may not be what I showed you; here is what goes out now
written-since = you've written since you pressed Send
may-be-sent = I may have sent it already

## Receipts

sent = Sent “{ $subject }” to { $to }
sent-without-copy = Sent “{ $subject }” to { $to } (I couldn't put a copy into Sent: { $why })
sent-with-attachments =
    Sent “{ $subject }” to { $to } with { $count ->
        [one] 1 attachment
       *[other] { $count } attachments
    }
saved-instead = Saved, not sent: no email account is connected. “{ $subject }” to { $to } is in { $path }
in-drafts = “{ $subject }” is in your drafts
in-drafts-instead = “{ $subject }” is in your drafts, in place of “{ $replaced }”
draft-saved-as-file = There is no mailbox for drafts, so I saved “{ $subject }” as { $path }
marked =
    { $state ->
        [read] Marked “{ $subject }” as read
        [unread] Marked “{ $subject }” as unread
        [flagged] Marked “{ $subject }” as flagged
       *[unflagged] Marked “{ $subject }” as unflagged
    }
moved = Moved “{ $subject }” to { $folder }
was-there = “{ $subject }” is in { $folder } already

## Lists and texts of emails

# The emails follow, a line each.
found =
    { $count ->
        [one] 1 email:
       *[other] { $count } emails, the newest first:
    }
# Instead, where some are left out. $total is a number, or the next message.
found-part = { $shown } of { $total } emails, the newest:
at-least = at least { $total }
# `before` is an argument of email.search.
found-part-with-texts = { $shown } of { $total } emails, the newest (40 texts at a time; `before` reaches the rest):
found-nothing = I found no such email
# The emails follow, a line each.
read-several =
    { $total ->
        [one] { $found } of { $total } email:
       *[other] { $found } of { $total } emails:
    }
not-found = Not found: { $ids }
# What is left of the unread emails, a line each; then those that no model sees, by their headers alone.
triaged =
    { $count ->
        [0] No email is waiting for you.
        [one] 1 email may be waiting for you:
       *[other] { $count } emails may be waiting for you:
    }
need-no-answer =
    { $count ->
        [one] 1 newsletter or automatic email wasn't looked at
       *[other] { $count } newsletters and automatic emails weren't looked at
    }
not-looked-at =
    { $count ->
        [one] I didn't look at 1 older unread email
       *[other] I didn't look at { $count } older unread emails
    }
# The emails of a thread follow, a line each.
thread =
    { $count ->
        [one] 1 email of the thread:
       *[other] { $count } emails of the thread, the oldest first:
    }
thread-part = The last { $shown } of { $total } emails of the thread, the oldest first:
# A line of a list: when, from whom and about what.
unread-line = { $line } (unread)
answered-line = { $line } (answered)
sent-line = { $line } (sent)
# Stands for the quote at the end of a text.
quoted =
    { $count ->
        [one] [1 quoted line; email.read has it]
       *[other] [{ $count } quoted lines; email.read has them]
    }
# The same where the quoted email stands in the list, too.
quoted-above =
    { $count ->
        [one] [1 quoted line, from above]
       *[other] [{ $count } quoted lines, from above]
    }
from = From { $sender }
from-to = From { $sender } to { $recipients }
attachments = Attachments: { $files } (email.attachment reads one by its number)
attachment = { $number }: { $name } ({ $media-type }, { $bytes } bytes)
unnamed-attachment = a file

## What became of an email

bounced = It bounced: { $recipients }
sent-and-not-bounced = It was sent, and hasn't bounced so far
not-in-sent = There is no such email in Sent, and none bounced

## Texts in emails that we write

forwarded = Forwarded: { $subject }

## Subjects of questions

subject = “{ $subject }” from { $sender }

## Errors

no-account = no email account is connected yet. Whoever runs me can connect one with `adjutant init`
no-inbox = I can send email but not read it. Whoever runs me can change that
which-email = /message_id: say which email
no-such-emails = there are no such emails; email.search gives their ids
missing = /{ $argument }: say it, or name a draft to send
no-subject = /subject: say it, or name the email that this answers
no-such-draft = there is no draft { $id } in the mailbox; email.search lists them with folder "Drafts"
draft-too-long = the draft is too long for me to send; an email program can
# $why is the error.
about = “{ $subject }”: { $why }
set-aside = it made me crash twice, so I don't open it anymore
empty-attachment = the attachment is empty
attachments-too-big = its attachments are bigger than { $megabytes } MB together, so I can't send them; email.send can send its text
cannot-save = I couldn't write the email to { $path }: { $why }
# $why is the error of the server, which refused the email.
kept-as-draft = { $why }. The email is in your drafts
taken-over = I was interrupted before I could send it
journal-failed = I couldn't save that I'm sending it, so I didn't send it

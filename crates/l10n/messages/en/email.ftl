# Email: what is asked before one is sent, receipts, results and errors.

## Asking before one is sent

preview = Send this email to { $to }: “{ $subject }”
preview-as-file = Save this email to { $to } as a file (no email account is set up): “{ $subject }”
preview-cc = cc: { $recipients }
preview-bcc = bcc: { $recipients }
preview-attachments = attachments: { $files }
# Above the text of the email, which follows on a line of its own.
preview-text = text:

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
draft-saved-as-file = There is no mailbox for drafts, so I saved “{ $subject }” as { $path }
marked =
    { $state ->
        [read] Marked “{ $subject }” as read
        [unread] Marked “{ $subject }” as unread
        [flagged] Marked “{ $subject }” as flagged
       *[unflagged] Marked “{ $subject }” as unflagged
    }
moved = Moved “{ $subject }” to { $folder }

## Lists and texts of emails

# The emails follow, a line each.
found =
    { $count ->
        [one] 1 email:
       *[other] { $count } emails, the newest first:
    }
found-nothing = I found no such email
# The emails follow, a line each.
read-several =
    { $total ->
        [one] { $found } of { $total } email:
       *[other] { $found } of { $total } emails:
    }
not-found = Not found: { $ids }
# A line of a list: when, from whom and about what.
unread-line = { $line } (unread)
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
not-a-date = /{ $argument }: "{ $text }" isn't a date; write 2026-11-27
set-aside = it made me crash twice, so I don't open it any more
empty-attachment = the attachment is empty
attachments-too-big = its attachments are bigger than { $megabytes } MB together, so I can't forward them; email.send can send its text
cannot-save = I couldn't write the email to { $path }: { $why }
# $why is the error of the server, which refused the email.
kept-as-draft = { $why }. The email is in your drafts
taken-over = another process may take this over
journal-failed = the journal couldn't be written
rejected-login = the email server rejected my login: { $why }

# Files that people send, and files that I send.

## What kind of file it is, and how big

text = text
pdf = PDF
picture = picture
document = document
email = email
archive = archive
# $kind is one of those above, or such as "audio/ogg"; $size is such as "120 KB".
about = { $kind }, { $size }
about-pages =
    { $pages ->
        [one] { $kind }, 1 page, { $size }
       *[other] { $kind }, { $pages } pages, { $size }
    }
bytes =
    { $count ->
        [one] 1 byte
       *[other] { $count } bytes
    }
kilobytes = { $number } KB
# $number: such as "1.2".
megabytes = { $number } MB

## Why a file can't be read, to go after its name and a colon

too-big = it's too big; I take up to { $megabytes } MB
too-many = there were too many files in the message
is-empty = it's empty
gone = it isn't there anymore
not-downloaded = the download failed
no-text = it has no text, only pictures; it may be a scan
locked = it has a password
unreadable = it's damaged, or too complicated
too-many-inside = it has more than 1,000 files inside
unsafe-paths = it contains unsafe file paths
quarantined = it made me crash twice, so I don't open it anymore
not-inside = there is no such file inside
went-wrong = something went wrong on my side

## To the sender. $why is one of the reasons above.

cannot-read = I can't read “{ $name }”: { $why }. I've saved it and can forward it.
cannot-open = I can't open “{ $name }”, but I've saved it and can forward it.
no-pictures = My language model doesn't look at pictures. I've saved “{ $name }” and can forward it.
picture-too-big = “{ $name }” is too big to look at: 5 MB at most. I've saved it and can forward it.
send-smaller = I didn't take “{ $name }”: { $why }. Please send a smaller one.
send-alone = I didn't take “{ $name }”: { $why }. Please send it by itself.
empty = “{ $name }” is empty. Please send it again.
send-again = I couldn't get “{ $name }”: { $why }. Please send it again.
not-shared = I couldn't put “{ $name }” into shared storage, so I may ask you to send it again.
not-with-command = I can't take a file along with a command or an answer. Please send it with a message.

## A long answer that is sent as a file

rest-in-file = … The whole answer is in the file.
# $headings: of what is only there, such as "Costs · Dates".
rest-in-file-about = … The whole answer is in the file. There it goes on with: { $headings }

# Files that skills list, read, fetch and send on.

## Lists and texts of files

# The files follow, a line each.
found =
    { $count ->
        [one] 1 file:
       *[other] { $count } files:
    }
newest =
    { $count ->
        [one] The newest file; there are more:
       *[other] The newest { $count } files; there are more:
    }
none = You haven't sent me any files
# In front of a file's text: its name, what it is, such as "PDF, 3 pages, 120 KB", and its id.
head = “{ $name }” ({ $about }) [file { $id }]
# $head: the line above, here and in the next two.
more-follows = { $head }; { $bytes } more bytes follow: files.read from = { $from }
files-inside = { $head }; files.read entry = NUMBER reads a file inside
without-text = { $head }: its text can't be read: { $why }
# The last line of the text of a long PDF.
more-pages =
    { $count ->
        [one] [1 more page wasn't read]
       *[other] [{ $count } more pages weren't read]
    }
# At the end of a text that was cut.
cut = [cut: { $bytes } more bytes weren't read]

## Why a file has no text

picture = it's a picture
unread-kind = I don't read { $media-type }; it can be sent on

## Errors

none-sent = you haven't sent me any files
no-such-file = there is no file { $id }; files.list gives the ids
gone = the file “{ $name }” isn't there anymore; it must be sent or fetched again
not-kept = the file couldn't be kept: { $why }
not-read = the file couldn't be read: { $why }
unreadable = “{ $name }” can't be read: { $why }
nothing-inside = “{ $name }” has no files inside
not-taken-out = file { $number } of “{ $name }” can't be taken out: { $why }
unpacks-too-big = it unpacks to more than { $megabytes } MB
empty-inside = file { $number } of “{ $name }” is empty

# Notes: a folder of Markdown files.

## Asking before a note is replaced

# The text of the note, in a box of its own.
create-preview =
    Create the note { $path }:
    { $text }
# What changes: the lines as they are and as they would be, each in a box of its own.
change-preview =
    Change the note { $path }
    Now:
    { $before }
    Then:
    { $after }

## Receipts

created = Created the note { $path }
replaced = Replaced the note { $path }
added = Added to the note { $path }
changed = Changed the note { $path }

## Lists and texts of notes

# The notes follow, a line each.
found =
    { $count ->
        [one] 1 note:
       *[other] { $count } notes:
    }
found-first =
    { $count ->
        [one] 1 note, the first { $shown }:
       *[other] { $count } notes, the first { $shown }:
    }
found-nothing = No note mentions “{ $query }”
no-notes = There are no notes there
# The text follows, below a blank line.
head = { $path } (version { $version })

## Errors

not-connected = no folder of notes is connected yet. Whoever runs me can set one up
folder-not-opened = the notes' folder { $path } can't be opened: { $why }
folder-not-read = the notes' folder: { $why }
folder-not-written = can't write to the notes' folder: { $why }
work-failed = the work on the notes failed: { $why }
path-absolute = /path: “{ $path }” must be relative to the notes' folder
path-outside = /path: “{ $path }” isn't in the notes' folder, or is hidden
path-unusable = /path: “{ $path }” has a part that is too long or has a control character
path-deep = /path: “{ $path }” has too many folders
folder-outside = /folder: it isn't in the notes' folder, or is hidden
no-folder = there is no folder { $name }
folder-is-link = the folder { $name } is a link or no folder; links aren't followed
folder-failed = the folder { $name }: { $why }
no-note = there is no { $path }
is-link = { $path } is a link or no folder; links aren't followed
not-a-file = { $path } isn't a file
cannot-read = { $path } can't be read: { $why }
cannot-write = can't write { $path }: { $why }
cannot-delete = can't delete { $path }: { $why }
too-large = { $path } is larger than 1 MB
text-too-large = /text: the note would be larger than 1 MB
not-text = { $path } isn't text in UTF-8
too-many = there are more than { $count } notes; name a folder
exists = { $path } exists already. Append to it, or say overwrite
changed-meanwhile = { $path } was changed meanwhile: it was version { $read } when it was read, and is version { $now } now. Read it again
no-text = /text: say what to write, or name a file
file-too-long = “{ $name }” is too long for a note: its text has more than 256 KB
# $headings: those of the note.
no-section = there is no section “{ $heading }”; the sections: { $headings }
no-sections = there is no section “{ $heading }”; the note has no sections
same-headings =
    { $count ->
       *[other] there are { $count } sections “{ $heading }”; rename one of them first
    }

# Skills that run a program.

## Results

answered = { $program } answered.
no-output = { $program } ran without output.
# Below the files that a script has made.
files-not-kept =
    { $count ->
        [one] 1 more file wasn't kept: it's beyond the first { $limit }, larger than { $megabytes } MB, empty, or holds a key
       *[other] { $count } more files weren't kept: they're beyond the first { $limit }, larger than { $megabytes } MB, empty, or hold a key
    }
# The last line of a text that was cut.
cut = [cut: the first { $kept } of { $bytes } bytes]

## Errors

option = “{ $word }” begins with “-”, which { $program } may take for an option
no-folder = can't create a working folder for { $program }: { $why }
not-installed = the program “{ $program }” is not installed (not found in PATH)
not-started = “{ $program }” can't be started: { $why }
contact-lost = lost contact with “{ $program }”: { $why }
ended-with-status = { $program } ended with status { $status }
ended-by-signal = { $program } was ended by signal { $signal }
ended-badly = { $program } ended badly
# $error: one of the three above, perhaps with the last words of the program. $hint: how to permit more.
denied = { $error } (it sees its own folder and has no network; { $hint })
permit-in-file = say what else it needs in the skill's file: `network`, `read`, `write`

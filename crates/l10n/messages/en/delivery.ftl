# Messages that a platform didn't take as they were.

# $reason is the platform's.
refused = I have an answer for you, but { $platform } refuses it, even without formatting: `{ $reason }`. Please ask me to put it differently.
no-file = I couldn't deliver the file `{ $name }`: I tried for a day, but { $platform } didn't accept it.
too-late = I had something for you that I couldn't deliver for a day, so I've dropped it. Please ask me again.
# Below a question whose buttons can't be shown. $labels are theirs.
reply-with = Reply with one of these: { $labels }.

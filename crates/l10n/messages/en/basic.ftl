# What basic mode says: without a language model, it understands the fixed sentences of its skills.

## The introduction and small talk

# $examples: sentences that it understands, one a line.
introduction =
    I look after your to-do list, reminders, calendar and contacts. I'm in basic mode, so please keep it simple. Try:
    { $examples }
introduction-without-skills = I'm in basic mode, and no skills are set up.
# $introduction: one of the two above.
hello = Hello! { $introduction }
no-words = I didn't see any words in that. { $introduction }
fine = I'm here, and all is well. What can I do for you?
welcome = You're welcome!
bye = Bye! I'll keep an eye on your reminders.
never-mind = OK. To undo my last change, say “undo”.
nothing-runs = Nothing is running. `/stop` stops what I'm doing.
stays-here = You can just close this chat; I'll stay here. In a terminal, /quit ends it.
answers-nothing = I'm not waiting for an answer right now.
private = What you write stays in my own database. In basic mode, no language model reads it. `/memories` shows what I remember about you.
connects = Send `/connect` to connect your email and calendar. Whoever runs me can add a chat platform: `adjutant init` asks for it.
models = With a language model, you can write as you talk. Whoever runs me can add one: `adjutant init` finds it or asks for it.
time-now = It's { $weekday }, { $date }, { $time }.

## Refusals

too-long = That's too long for basic mode. Send it in shorter messages.
not-understood = Sorry, I didn't understand that. In basic mode I need simple sentences.
# The message is clear but for these words of it, such as "on Saturday".
unclear-words = I'm not sure what “{ $words }” means there, so I haven't done anything. If it's part of a name, put the name in quotes.
# Below one of the two above: sentences that it understands.
try-sentences = Try “{ $first }” or “{ $second }”.

## What became of a part of the message

# $part: the part, as the person wrote it.
done = “{ $part }”: done.
not-wanted = OK, I didn't do this: “{ $part }”
not-reached = I didn't do “{ $part }” either, because it comes after that.
unknown = I can't tell whether “{ $part }” worked, so I didn't repeat it. Please check: { $reason }
timed-out = “{ $part }” took too long.
stopped = “{ $part }” was stopped.
failed = “{ $part }” didn't work: { $reason }

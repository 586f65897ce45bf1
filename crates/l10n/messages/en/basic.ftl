# What basic mode says: without a language model, it understands the fixed sentences of its skills.

## The introduction and small talk

# $examples: sentences that it understands, one a line.
introduction =
    I'm in basic mode, without a language model. I look after your to-do list, calendar and contacts. Try:
    { $examples }
introduction-without-skills = I'm in basic mode, without a language model, and no skills are set up.
# $introduction: one of the two above.
hello = Hello! { $introduction }
no-words = I didn't see any words in that. { $introduction }
welcome = You're welcome!
bye = Bye! I keep an eye on your reminders.
never-mind = OK. To undo my last change, say “undo”.
nothing-runs = Nothing is running. `/stop` stops what I'm doing.
stays-here = You can just close this chat; I stay here. In a terminal, /quit ends it.
answers-nothing = I don't know which question that answers. `/status` shows the open ones.
time-now = It's { $weekday }, { $date }, { $time }.

## Refusals

too-long = That's too long for basic mode. Send it in shorter messages.
not-understood = Sorry, I didn't understand “{ $text }” in basic mode.
# The message is clear but for these words of it, such as "on Saturday".
unclear-words = I'm not sure what “{ $words }” means there, so I did nothing. If it belongs to a name, put the name in quotes.
# After one of the two above. $examples: sentences that it understands, one a line.
understood-sentences =
    I understand:
    { $examples }

## What became of a part of the message

# $part: the part, as the person wrote it.
done = “{ $part }”: done.
not-wanted = OK, I didn't do this: “{ $part }”
not-reached = I didn't do “{ $part }” either, because it comes after that.
unknown = I can't tell whether “{ $part }” worked, so I didn't repeat it. Please check: { $reason }
timed-out = “{ $part }” took too long.
stopped = “{ $part }” was stopped.
failed = “{ $part }” didn't work: { $reason }

# Questions about effects that need a person's approval.

## Buttons

approve-button = Approve
reject-button = Reject
# For an email that is sent unless somebody stops it.
send-now-button = Send now
do-not-send-button = Don't send
# $number: one of several effects in the same message.
approve-number-button = Approve { $number }
reject-number-button = Reject { $number }
approve-all-button = Approve all
reject-all-button = Reject all
# Shows long effects whole.
show-all-button = Show all

## The question below the effects

# Between what a model said and everything below.
before-i-go-on = Before I go on:
# $text: the beginning of what the person wrote.
you-asked = You asked: “{ $text }”.
shall-i = Shall I do this?
shall-i-do-all = Shall I do these { $count } things? Answer “yes”, “no”, “yes to 1” or “all except 2”.
# Instead of a question: silence is a yes. $delay: such as "1 minute".
sending-soon = I'll send this in { $delay }. “No” stops it; if you write anything else, it waits for a yes.

## Below an effect

# After a text that is cut.
hidden-characters =
    { $count ->
        [one] … and { $count } more character: “{ show-all-button }”
       *[other] … and { $count } more characters: “{ show-all-button }”
    }
# $replaced: the effect that this one was asked for in the place of.
instead-of = Instead of: { $replaced }
# Above the question. $questions: others of an earlier message that wait for an answer, one a line.
still-open =
    Not answered yet; “yes” or “no” answers this, too:
    { $questions }
# Instead, where one of them may come from text of others.
not-answered =
    Not answered yet:
    { $questions }
# $roles: the agents, from the top, such as "lead › reviewer".
asked-for-by = Asked for by { $roles }
# $recipients: each one alone, or as one of those below. $contact: a name and an address.
goes-to = Goes to: { $recipients }
contact-recipient = { $contact } (in your contacts)
known-recipient = { $contact } (in your contacts; you didn't mention them)
# $name: what the person said. $others: names of other contacts, such as "“Bob Miller”, “Bob Lee”".
ambiguous-recipient = { $contact } (in your contacts; “{ $name }” may also be { $others })
namesake-recipient = { $contact } (in your contacts; several contacts are called “{ $name }”)
answered-recipient = { $address } (sender of the email this answers)
foreign-recipient = { $address } (not in your contacts)
new-recipient = { $address } (new address: not in your contacts, and you didn't mention it)
unmentioned-recipient = { $address } (you didn't mention it)

## Why it is asked

too-many-recipients = This would go to more than { $limit } people.
too-many-deletions = This would delete more than two things.
# $source: what was read from outside, such as "the email “Invoice”", here and below.
too-many-deletions-from = This would delete more than two things, and the idea may come from { $source }.
# $reason: a sentence without its full stop.
note = Note: { $reason }.
idea-from = I'm not sure you asked for this. It may come from { $source }.
# The person has said yes to what the assistant offered, and to nothing else.
offer-from = You said yes to an offer of mine, and I'm not sure that this is it. It may come from { $source }.
address-from = I'm not sure you gave me this address. It may come from { $source }.
details-from = I'm not sure you asked for exactly this. It may come from { $source }.
# $others: titles, such as "“Lunch”, the email “Invoice” from Bob".
several-fit = I'm not sure which one you mean: what you said also fits { $others }.
unchecked-from = I couldn't check whether you asked for this. It may come from { $source }.
two-sources = { $first } and { $second }
three-sources = { $first }, { $second } and { $third }
many-sources = something that I've read

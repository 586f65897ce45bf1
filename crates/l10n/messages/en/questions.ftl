# Questions that people answer, and what they hear about their answers.

## The question

ask-for-text =
    { $question }

    Reply with your answer, or send `/stop` to cancel.
# In a list of open questions: a request that was paused or came to a limit.
continue-subject = Shall I carry on?
# In a list of open questions. $name: what is asked for, such as "topic".
input-subject = What is “{ $name }”?

## To an answer that can't be taken

not-yours = Only the person I asked, or an owner, can answer this question.
button-gone = That button no longer works. Please tell me what you want in words.
no-longer-open = That question is no longer open.
already-answered = That's already been answered.
# $answer: the label of the button.
already-answered-with = You already answered: { $answer }.

## To a yes or a no that may mean several questions

none-open = No question is open.
# $question: its number, and what it is about. $reply: one of the two below.
which-one =
    Do you mean this?
    { $question }

    { $reply }
# $questions: one a line. $reply: one of the two below.
which-of-several =
    Which one do you mean?
    { $questions }

    { $reply }
# $yes, $no: numbers of open questions, as examples.
reply-yes-or-no = Reply “yes to { $yes }” or “no to { $no }”.
# To a no, which can't mean a yes. $number: the same.
reply-no = Reply “no to { $number }”.
# $which: the list of open questions, or that there is none.
no-such-number = No open question has the number { $number }. { $which }
# The person's yes or no wasn't for the one open question.
other-button = Something else
# To a press of that button: the question stays open.
still-waits = OK, this one still waits for your answer. Say in a few words what you meant.
# $number: the number of the question.
yes-to-button = Yes to { $number }
no-to-button = No to { $number }

# Below the answer to a person who dropped others of the same message. $questions: each with its number.
left-open = Still open: { $questions }

## How to answer by /answer

answer-choice = Send `/answer { $number }` with one of these: { $options }.
answer-input = Send `/answer { $number }` and what you want to say.
answer-plan = Send `/answer { $number } run`, `/answer { $number } cancel`, or the change.
answer-yes-or-no = Send `/answer { $number } yes` or `/answer { $number } no`.

## Confirmations

# $subject: what would be done, such as "Delete 3 tasks".
approved = Approved: { $subject }. Going ahead.
rejected = OK, I won't do this: { $subject }.
continuing = OK, I'll continue.
summarising = OK, I'll summarize.
stopping = OK, I'll stop.
changing-plan = OK, I'll change the plan.
input-taken = Thanks. Going ahead.
chosen = OK: { $option }.

## Nobody answered

# $preview: what would have been done.
expired-approval = I didn't hear back in time, so I didn't do this: { $preview }
expired = I didn't hear back, so I stopped.

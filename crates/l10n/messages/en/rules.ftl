# Standing approvals: what a person has allowed in advance.

## Buttons

always-for = Always for { $address }
always-in-calendar = Always in “{ $calendar }”
always-in-my-calendar = Always in my calendar
# $account: what its person calls it, such as “work”.
always-in-account = Always in my “{ $account }” calendar
always-in-calendar-of = Always in “{ $calendar }” ({ $account })
always-under = Always under { $folder }
always-this = Always for exactly this
# Ends the rule of this number.
end-button = End { $number }

## The offer below a question

# $what: what the rule allows, such as "emails to bob@acme.example", here and below.
offer =
    { $days ->
        [one] “Always” allows { $what } for { $days } day.
       *[other] “Always” allows { $what } for { $days } days.
    }
# The question shows the call.
offer-call =
    { $days ->
        [one] “Always” allows exactly this call for { $days } day.
       *[other] “Always” allows exactly this call for { $days } days.
    }

## Answers

made = New rule: { $what }. Until { $end }, I won't ask. `/rules` shows and ends your rules.
ended = Ended: { $what }. I'll ask you again.
no-rules = I ask you about everything that needs your yes. To allow something in advance, press an “Always …” button; your rules then appear here.
gone = There's no such rule anymore. Send `/rules` to see the ones you have.
# $rules: one a line.
list =
    I don't ask you about these:

    { $rules }
line = { $number }. { $what }: since { $begin }, until { $end }, used { $used } of { $limit } times

## Receipts

# After what was done without a question. $begin: the day of the rule.
under-rule = (under your rule of { $begin })

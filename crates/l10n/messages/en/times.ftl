# Days, dates, times, and how often something repeats.

## Names. A week begins with Monday, which is 1.

weekday =
    { $number ->
        [1] Monday
        [2] Tuesday
        [3] Wednesday
        [4] Thursday
        [5] Friday
        [6] Saturday
       *[7] Sunday
    }
short-weekday =
    { $number ->
        [1] Mon
        [2] Tue
        [3] Wed
        [4] Thu
        [5] Fri
        [6] Sat
       *[7] Sun
    }
month =
    { $number ->
        [1] January
        [2] February
        [3] March
        [4] April
        [5] May
        [6] June
        [7] July
        [8] August
        [9] September
        [10] October
        [11] November
       *[12] December
    }
short-month =
    { $number ->
        [1] Jan
        [2] Feb
        [3] Mar
        [4] Apr
        [5] May
        [6] Jun
        [7] Jul
        [8] Aug
        [9] Sep
        [10] Oct
        [11] Nov
       *[12] Dec
    }
# A day of a month.
ordinal =
    { $day ->
        [1] 1st
        [2] 2nd
        [3] 3rd
        [21] 21st
        [22] 22nd
        [23] 23rd
        [31] 31st
       *[other] { $day }th
    }

## Dates and times

# "Fri 27 Nov 2026": short names.
date = { $weekday } { $day } { $month } { $year }
# "27 November 2026": the month's whole name.
long-date = { $day } { $month } { $year }
# "27 November".
day-and-month = { $day } { $month }
# "Fri 27 Nov 2026, 17:00".
date-time = { $date }, { $time }
# "Fri 27 Nov 2026, 17:00–18:00".
same-day = { $begin }–{ $end }
# "Fri 27 Nov 2026 to Sun 29 Nov 2026".
several-days = { $begin } to { $end }

## How often, after a verb: "I'll do this every day at 08:00"

# "Monday, Tuesday and Friday". $items: all but the last.
list = { $items } and { $last }
every-minutes =
    { $count ->
        [one] every minute
       *[other] every { $count } minutes
    }
every-hours =
    { $count ->
        [one] every hour on the hour
       *[other] every { $count } hours on the hour
    }
every-day-at = every day at { $time }
every-weekday-at = every weekday at { $time }
# $days: "Monday and Friday".
every-days-at = every { $days } at { $time }
last-day-of-month-at = on the last day of every month at { $time }
# $days: "1st and 15th".
days-of-month-at = on the { $days } of every month at { $time }

## How often a task or an event repeats

daily =
    { $count ->
        [one] every day
       *[other] every { $count } days
    }
weekly =
    { $count ->
        [one] every week
       *[other] every { $count } weeks
    }
monthly =
    { $count ->
        [one] every month
       *[other] every { $count } months
    }
yearly =
    { $count ->
        [one] every year
       *[other] every { $count } years
    }
every-weekday = every weekday
# $days: "Monday and Friday".
every-days = every { $days }
# $weeks: "every 2 weeks".
weeks-on-weekdays = { $weeks } on weekdays
weeks-on-days = { $weeks } on { $days }
# $months: "every month", "every 3 months". $days: "1st and 15th".
months-on-days = { $months } on the { $days }
months-on-last-day = { $months } on the last day
# A month that has no such day has its last day instead.
months-on-day-or-last = { $months } on the { $day } or the last day
# $repeats: any of the above.
repeats-times =
    { $count ->
        [one] { $repeats }, once
       *[other] { $repeats }, { $count } times
    }
repeats-until = { $repeats } until { $end }
# After what repeats, such as "Added “Standup”".
repeating = , repeating { $repeats }
repeating-somehow = , repeating

## What isn't understood

unknown-time = “{ $text }” isn't a date or time; write 2026-11-27, 2026-11-27T17:00 or 2026-11-27T17:00:00+01:00
unknown-length = “{ $text }” isn't a duration; write it like “30m”, “1h30m” or “2d”
# People may write English or German.
unknown-rule = I don't understand the time “{ $text }”; write it like “every weekday at 8”, “monday to thursday at 9:30”, “weekdays except friday at 9”, “every 1st at 10”, “every 2 hours”, or as a cron pattern such as “0 8 * * 1-5”

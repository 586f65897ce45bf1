# The web page: usage.

last-days =
    { $count ->
        [one] The last day.
       *[other] The last { $count } days.
    }
csv = All of it as CSV
tokens-by-day = Tokens by day
cost-by-day = Cost by day
as-table = As a table
# Both are amounts, such as 12,345 or $1.20.
in-all = { $total } in all, at most { $most } in a day
nothing-used = Nothing was used.
by-person = By person
by-role = By role
by-model = By model
by-skill = By skill
questions-by-skill = Questions by skill

# Everybody who has no name of their own in a chart.
others = Others

## Columns

name = Name
day = Day
total = Total
calls = Calls
tokens = Tokens
cost = Cost
asked = Asked
yes = Yes
no = No
expired = Expired
median-time = Median time

# What was made from text that other people wrote: /mine.

no-such-number = There is no { $number } in this list.
nothing = Nothing here came from other people's messages.
# $items: one a line.
list =
    I made these from text that other people wrote, so I don't treat it as your own words:

    { $items }

    `/mine { $number }` makes one yours, `/mine all` all of them.
# $item: such as "The task “milk”". $sources: where its text comes from.
line = { $number }. { $item }, from { $sources }
more = … and { $count } more
cleared = { $item } is yours now.
cleared-several = These { $count } are yours now: { $items }.

## Items. $title: in quotes, or an id if there is none.

task = The task { $title }
memory = The memory { $title }
schedule = The schedule { $title }
contact = The contact { $title }
event = The event { $title }
something = The item { $title }

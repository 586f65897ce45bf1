# How long something takes.

milliseconds = { $count } ms
seconds =
    { $count ->
        [one] { $count } second
       *[other] { $count } seconds
    }
minutes =
    { $count ->
        [one] { $count } minute
       *[other] { $count } minutes
    }
hours =
    { $count ->
        [one] { $count } hour
       *[other] { $count } hours
    }

# The to-do list: what is asked before many tasks change, receipts, results and errors.

## Asking before several tasks change. The tasks follow, a line each.

delete-all =
    { $count ->
        [one] Delete 1 task:
       *[other] Delete { $count } tasks:
    }
complete-all =
    { $count ->
        [one] Mark 1 task as done:
       *[other] Mark { $count } tasks as done:
    }

## Asking before a task changes. What changes follows, a line each.

change-task = Change the task “{ $title }”:
title-changes = title: { $old } → { $new }
due-changes = due: { $old } → { $new }
recurrence-changes = repeats: { $old } → { $new }
notes-change = notes: { $old } → { $new }
tags-change = tags: { $old } → { $new }
priority-changes = priority: { $old } → { $new }
# Instead of what a task, or a contact, doesn't have.
empty = none

## Receipts

# $repeats is empty, or like “, repeating every Monday”.
added = Added “{ $title }”{ $repeats }
added-due = Added “{ $title }”, due { $due }{ $repeats }
# $task is a title in quotes, and when it is due.
changed = Changed { $task }
done = Done: “{ $title }”
done-repeating = Done: “{ $title }”; the next one is due { $due }
# The tasks follow, a line each.
completed-all =
    { $count ->
        [one] Marked 1 task as done:
       *[other] Marked { $count } tasks as done:
    }
# A line of that list. $task: its title.
completed-repeating = { $task }; the next one is due { $due }
already-done = “{ $title }” is already done
# $task is a title in quotes, and when it was due.
deleted = Deleted { $task }
# The tasks follow, a line each.
deleted-all =
    { $count ->
        [one] Deleted 1 task:
       *[other] Deleted { $count } tasks:
    }

## A task in a list, after its title

# $repeats is empty, or like “, repeating every Monday”.
due = due { $date }{ $repeats }
# Of a task whose date is new.
now-due = now due { $date }{ $repeats }
overdue = overdue since { $date }{ $repeats }
is-done = done
high-priority = high priority

## Searches. The tasks follow, a line each.

found =
    { $state ->
        [open]
            { $count ->
                [one] 1 open task:
               *[other] { $count } open tasks:
            }
        [overdue]
            { $count ->
                [one] 1 overdue task:
               *[other] { $count } overdue tasks:
            }
        [done]
            { $count ->
                [one] 1 finished task:
               *[other] { $count } finished tasks:
            }
       *[all]
            { $count ->
                [one] 1 task:
               *[other] { $count } tasks:
            }
    }
# There are more than are shown.
found-first =
    { $state ->
        [open] { $count } open tasks, the first { $shown }:
        [overdue] { $count } overdue tasks, the first { $shown }:
        [done] { $count } finished tasks, the first { $shown }:
       *[all] { $count } tasks, the first { $shown }:
    }
none =
    { $state ->
        [open] No open tasks
        [overdue] No overdue tasks
        [done] No finished tasks
       *[all] No tasks
    }
none-about =
    { $state ->
        [open] No open tasks about “{ $query }”
        [overdue] No overdue tasks about “{ $query }”
        [done] No finished tasks about “{ $query }”
       *[all] No tasks about “{ $query }”
    }
# In a period that the person named.
none-then =
    { $state ->
        [open] No open tasks due then
        [overdue] No overdue tasks due then
        [done] No finished tasks due then
       *[all] No tasks due then
    }
none-about-then =
    { $state ->
        [open] No open tasks about “{ $query }” due then
        [overdue] No overdue tasks about “{ $query }” due then
        [done] No finished tasks about “{ $query }” due then
       *[all] No tasks about “{ $query }” due then
    }

## Errors. What begins with a slash is an argument's name.

no-title = /title: give the task a title
which-task = give the task's id or its title
not-found = there is no open task called “{ $name }”, and none with that id
none-called = there is no open task called “{ $name }”
several-match = several tasks match “{ $name }”: { $tasks }. Say which one
none-in-state =
    { $state ->
        [open] there are no open tasks
        [overdue] there are no overdue tasks
        [done] there are no finished tasks
       *[all] there are no tasks
    }

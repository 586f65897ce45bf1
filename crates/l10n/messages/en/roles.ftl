# Agents of roles, above all those that `/spawn` starts.

## Answers to `/spawn` and `/stop`

spawned = The { $role } is on it. I'll send you the result; `/stop { $id }` ends it.
spawn-usage = Send `/spawn ROLE TASK`, for example `/spawn researcher what did Acme write us this year?`. Without a role, a researcher does it. Roles: { $roles }
not-started = I can't start that: { $why }
no-such-id = No request in the background has that ID. `/status` lists them.
only-in-background = Only requests in the background are running. `/status` lists them, and `/stop ID` ends one.

## Why there is no such role

no-role = there is no role “{ $role }”; the roles are { $roles }
no-role-but = there is no role “{ $role }”; did you mean “{ $nearest }”? The roles are { $roles }

## `/status`

in-background = In the background:
# $task: the beginning of what it was asked.
background-task = { $task } (`/stop { $id }` ends it)
background-task-waiting = { $task }, waiting for you (`/stop { $id }` ends it)

## Results. The text of the agent follows.

result = **{ $role }**, “{ $task }”:
result-partly = **{ $role }**, “{ $task }” (partly done):
# $status: such as "failed" or "timeout".
result-ended = **{ $role }**, “{ $task }” ({ $status }):
data = Data: { $data }
warning = Warning: { $warning }
suggestion = Suggestion: { $suggestion }
# Below a result: a call of a skill, or an agent below.
call-failed = ({ $name } failed: { $why })

## The progress

progress = { $role } (level { $level }), { $used } of { $most } calls

## Why an agent's work is partial, or ended

no-more-agents = it reached the limit of agents for one task
no-more-model-calls =
    { $count ->
        [one] it used up its one model call
       *[other] it used up its { $count } model calls
    }
stopped = stopped
crashed = an internal error ended this agent

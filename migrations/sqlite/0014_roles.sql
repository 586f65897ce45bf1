-- The role that an agent was given; none for an agent without one.
ALTER TABLE executions ADD COLUMN role TEXT;
-- JSON: the structured part of an agent's answer: details, data, warnings, suggestions.
ALTER TABLE executions ADD COLUMN answer TEXT;
-- 1 for a turn that runs beside its conversation's others: an agent that a person started with /spawn.
ALTER TABLE turns ADD COLUMN background BIGINT NOT NULL DEFAULT 0;

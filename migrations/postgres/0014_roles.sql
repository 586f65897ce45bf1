-- The role that an agent was given; none for an agent without one.
ALTER TABLE executions ADD COLUMN role TEXT;
-- JSON: the structured part of an agent's answer: details, data, warnings, suggestions.
ALTER TABLE executions ADD COLUMN answer TEXT;

-- What the person asked for in a message, as JSON, read once from their own words alone.
ALTER TABLE turns ADD COLUMN wishes TEXT;
-- What allowed a skill call: `policy`, `own words`, `linked`, `wish 0`, `workflow`, `forms`, `rule ID` or `approval`.
ALTER TABLE executions ADD COLUMN basis TEXT;

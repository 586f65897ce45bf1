-- JSON: what the server of a call wants to know before it goes on, and what was answered so far.
ALTER TABLE executions ADD COLUMN asked TEXT;

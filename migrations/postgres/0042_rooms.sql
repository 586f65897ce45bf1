-- What other people say in a room is from outside: whose words the summary of a conversation holds, by their ids.
ALTER TABLE conversations ADD COLUMN summary_by TEXT NOT NULL DEFAULT '';
-- The people that a message mentions, by the platform's ids, with the names that they gave themselves.
ALTER TABLE inbox ADD COLUMN mentions TEXT NOT NULL DEFAULT '';

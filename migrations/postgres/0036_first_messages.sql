-- The first messages of a dialogue, stored with its first call, are called what they are.
ALTER TABLE calls RENAME COLUMN opening TO first_messages;

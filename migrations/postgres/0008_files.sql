-- What is too long for a chat: a file that is sent after the text, as JSON.
ALTER TABLE outbox ADD COLUMN file TEXT;

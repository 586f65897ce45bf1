-- JSON: the files of a message until they are fetched. The message waits for them, and what was written after it waits
-- behind it.
ALTER TABLE inbox ADD COLUMN files TEXT;

-- Files that people sent. What they contain is in the data folder, under the id.
CREATE TABLE attachments (
    id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    -- the message
    event TEXT NOT NULL,
    -- its number among the message's files
    number BIGINT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    media_type TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    pages BIGINT,
    -- why it isn't there, or can't be read
    problem TEXT,
    -- its text, if it has one
    content TEXT,
    -- where it came from
    source TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX attachments_event ON attachments (event);
CREATE INDEX attachments_conversation ON attachments (conversation_id);
CREATE INDEX attachments_person ON attachments (person_id, created_at);

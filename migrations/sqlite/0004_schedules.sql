-- What people want done again and again: a message that arrives by itself.
CREATE TABLE schedules (
    id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL REFERENCES people (id),
    conversation_id TEXT NOT NULL REFERENCES conversations (id),
    text TEXT NOT NULL,
    -- a cron pattern of five fields, read in this zone
    rule TEXT NOT NULL,
    zone TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'paused', 'stopped')),
    next_at BIGINT NOT NULL,
    -- the inbox row of the last run, until it is known how that ended
    running TEXT,
    failures BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL
);
CREATE INDEX schedules_next ON schedules (next_at) WHERE state = 'active';

-- When the person is to be reminded; nothing once they were.
ALTER TABLE tasks ADD COLUMN remind_at BIGINT;
CREATE INDEX tasks_remind ON tasks (remind_at) WHERE remind_at IS NOT NULL;
-- A reminder is told where they wrote last.
CREATE INDEX inbox_writer ON inbox (person_id, id);

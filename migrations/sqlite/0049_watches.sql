-- Watches: what people want to be told of, or done, as soon as it happens. source: what it reads, its row in
-- watch_sources. source, condition, wishes and bounds: JSON. wishes: what was read from its words when it was made.
-- config_name: its name in the configuration. active_since: what is older is no news. running: the inbox row of its last
-- turn, until it is known how that ended. day: when its money was used up. secret: SHA-256 of a webhook's.
CREATE TABLE watches (
    id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL REFERENCES people (id),
    conversation_id TEXT NOT NULL REFERENCES conversations (id),
    config_name TEXT UNIQUE,
    source TEXT NOT NULL,
    condition TEXT NOT NULL,
    action TEXT NOT NULL,
    words TEXT NOT NULL,
    wishes TEXT NOT NULL,
    bounds TEXT NOT NULL,
    state TEXT NOT NULL,
    active_since BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    tellings BIGINT NOT NULL,
    running TEXT,
    failures BIGINT NOT NULL,
    day BIGINT NOT NULL,
    secret TEXT,
    created_at BIGINT NOT NULL,
    version BIGINT NOT NULL
);
CREATE INDEX watches_person ON watches (person_id);
CREATE INDEX watches_source ON watches (source) WHERE state = 'active';
CREATE INDEX watches_running ON watches (id) WHERE running IS NOT NULL;
-- How far a source of active watches has been read: mark, JSON. version grows with each mark.
CREATE TABLE watch_sources (
    source TEXT PRIMARY KEY,
    mark TEXT NOT NULL,
    version BIGINT NOT NULL
);
-- What watches have found, each key once, also after the watch was deleted; watch_id NULL: a briefing. thing: JSON; NULL of
-- those that were too many, and of old ones. told_by: the inbox row of its telling.
CREATE TABLE watch_items (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    person_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    watch_id TEXT,
    key TEXT NOT NULL,
    thing TEXT,
    state TEXT NOT NULL,
    told_by TEXT,
    found_at BIGINT NOT NULL,
    later_at BIGINT
);
CREATE UNIQUE INDEX watch_items_key ON watch_items (watch_id, key);
CREATE INDEX watch_items_new ON watch_items (watch_id, seq) WHERE state = 'new';
CREATE INDEX watch_items_told ON watch_items (told_by) WHERE told_by IS NOT NULL;
CREATE INDEX watch_items_later ON watch_items (later_at) WHERE state = 'later';
CREATE INDEX watch_items_person ON watch_items (person_id, found_at);
CREATE INDEX watch_items_found ON watch_items (found_at);
-- What a model was asked for outside of any turn.
ALTER TABLE background_calls ADD COLUMN purpose TEXT NOT NULL DEFAULT '';
CREATE INDEX background_calls_purpose ON background_calls (purpose, started_at);

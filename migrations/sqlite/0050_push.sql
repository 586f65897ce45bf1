-- Browsers that are notified by push, each as long as its session: where, by which keys, and whether also of what is no
-- question. next_at: until then their push service is left alone.
CREATE TABLE push_subscriptions (
    session_id TEXT PRIMARY KEY REFERENCES web_sessions (id) ON DELETE CASCADE,
    endpoint TEXT NOT NULL UNIQUE,
    browser_key TEXT NOT NULL,
    auth TEXT NOT NULL,
    wants_news BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    next_at BIGINT NOT NULL
);
-- The messages that they were notified of. Without a row, a message with an open question is still to be sent; 'sending'
-- and 'closing': by an instance, which may have died since.
CREATE TABLE pushes (
    session_id TEXT NOT NULL REFERENCES push_subscriptions (session_id) ON DELETE CASCADE,
    message_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('sending', 'sent', 'closing', 'closed')),
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (session_id, message_id)
);

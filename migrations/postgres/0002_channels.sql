-- A text may take several messages of its platform; each has its own receipt, the outbox keeps the last.
ALTER TABLE outbox ADD COLUMN part BIGINT NOT NULL DEFAULT 0;
-- What the platform's adapter noted of the place before this part was sent last.
ALTER TABLE outbox ADD COLUMN mark TEXT;
-- The receipt of a shown message that becomes the first part.
ALTER TABLE outbox ADD COLUMN stand_in TEXT;

-- The receipt of the message that shows a turn's progress, while it stands.
ALTER TABLE turns ADD COLUMN shown TEXT;

-- Who was let in, beside the owners and those whom the configuration allows.
CREATE TABLE allowed (
    channel TEXT NOT NULL,
    user_id TEXT NOT NULL,
    name TEXT NOT NULL,
    since BIGINT NOT NULL,
    PRIMARY KEY (channel, user_id)
);

-- Codes: a stranger's, which an owner approves, and invitations, which have no stranger yet.
CREATE TABLE pairings (
    code TEXT PRIMARY KEY,
    channel TEXT,
    user_id TEXT,
    name TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX pairings_stranger ON pairings (channel, user_id) WHERE user_id IS NOT NULL;

-- 1 for a stranger's message, which waits until its writer is let in.
ALTER TABLE inbox ADD COLUMN held BIGINT NOT NULL DEFAULT 0;

-- Codes by which a person joins another account of theirs.
CREATE TABLE links (
    code TEXT PRIMARY KEY,
    person_id TEXT NOT NULL REFERENCES people (id),
    expires_at BIGINT NOT NULL
);

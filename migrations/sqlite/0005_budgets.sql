-- What model calls used on a day of [assistant] timezone, and what is set aside for those under way: of all people
-- together (who is '') and of each. Money is in billionths of a US dollar, so that sums are exact.
CREATE TABLE spending (
    day TEXT NOT NULL,
    who TEXT NOT NULL,
    tokens BIGINT NOT NULL DEFAULT 0,
    nano_usd BIGINT NOT NULL DEFAULT 0,
    reserved_tokens BIGINT NOT NULL DEFAULT 0,
    reserved_nano_usd BIGINT NOT NULL DEFAULT 0,
    -- 1 once it was told that little is left
    told_tokens BIGINT NOT NULL DEFAULT 0,
    told_nano_usd BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (day, who)
);

-- What is set aside for one model call, until it is over.
CREATE TABLE reservations (
    -- the execution whose model is called; 'fold CONVERSATION' for its history
    execution_id TEXT PRIMARY KEY,
    turn_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    instance TEXT NOT NULL,
    day TEXT NOT NULL,
    tokens BIGINT NOT NULL,
    nano_usd BIGINT NOT NULL
);
CREATE INDEX reservations_turn ON reservations (turn_id);

-- Model calls that belong to no turn: the folding of a conversation's history.
CREATE TABLE asides (
    id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    model TEXT NOT NULL,
    error TEXT,
    prompt_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    cost_usd DOUBLE PRECISION NOT NULL,
    started_at BIGINT NOT NULL,
    duration_ms BIGINT NOT NULL
);

-- When an owner last let it go on beyond a day's budget; 0 when none did.
ALTER TABLE turns ADD COLUMN granted_at BIGINT NOT NULL DEFAULT 0;

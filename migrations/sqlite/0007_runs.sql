-- Questions with choices of their own, and questions for a word. The check of a column can't be changed in place.
CREATE TABLE prompts_new (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    conversation_id TEXT NOT NULL,
    turn_id TEXT NOT NULL REFERENCES turns (id),
    -- the execution that waits for an answer; none for "continue?"
    execution_id TEXT,
    person_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('continue', 'approve', 'choose', 'input')),
    preview TEXT NOT NULL,
    -- what exactly a yes allows; the choices there are, as JSON
    fingerprint TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'answered', 'expired')),
    answer TEXT,
    answered_by TEXT,
    outbox_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    answered_at BIGINT
);
INSERT INTO prompts_new SELECT seq, id, conversation_id, turn_id, execution_id, person_id, kind, preview, fingerprint, state,
    answer, answered_by, outbox_id, created_at, expires_at, answered_at FROM prompts;
DROP TABLE prompts;
ALTER TABLE prompts_new RENAME TO prompts;
CREATE INDEX prompts_pending ON prompts (conversation_id, seq) WHERE state = 'pending';
CREATE INDEX prompts_turn ON prompts (turn_id);

-- A workflow at work in a turn. What it began with is kept, so that it goes on as it began whatever becomes of its file.
CREATE TABLE runs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    -- the execution that it is
    id TEXT NOT NULL UNIQUE,
    turn_id TEXT NOT NULL REFERENCES turns (id),
    workflow TEXT NOT NULL,
    -- the file's name, whose ending says how its text is to be read
    file TEXT NOT NULL,
    text TEXT NOT NULL,
    -- JSON: what it was given
    inputs TEXT NOT NULL,
    -- the run of which it takes over what some steps gave, and JSON: these outputs
    rerun_of TEXT,
    seed TEXT,
    status TEXT NOT NULL CHECK (status IN ('running', 'complete', 'partial', 'failed', 'cancelled')),
    -- JSON, once it has ended: the report, and what each step gave
    report TEXT,
    outputs TEXT,
    started_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX runs_turn ON runs (turn_id);

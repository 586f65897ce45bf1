-- Questions with choices of their own, and questions for a word.
ALTER TABLE prompts DROP CONSTRAINT prompts_kind_check;
ALTER TABLE prompts ADD CONSTRAINT prompts_kind_check CHECK (kind IN ('continue', 'approve', 'choose', 'input'));

-- A workflow at work in a turn. What it began with is kept, so that it goes on as it began whatever becomes of its file.
CREATE TABLE runs (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
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

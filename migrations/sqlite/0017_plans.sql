-- A plan that a person is asked about before it runs, and its earlier versions.
CREATE TABLE plans (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    -- the execution that made it, and that runs it after the yes
    id TEXT NOT NULL,
    -- from 1; each change that the person asks for makes another
    version BIGINT NOT NULL,
    turn_id TEXT NOT NULL REFERENCES turns (id),
    goal TEXT NOT NULL,
    -- JSON: steps, what is uncertain, what will be asked, what it may take
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (id, version)
);
CREATE INDEX plans_turn ON plans (turn_id);

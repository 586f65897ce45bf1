-- Times are milliseconds since 1970 UTC, flags 0 or 1, ids and JSON text: the same on both databases.

CREATE TABLE people (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    timezone TEXT,
    created_at BIGINT NOT NULL
);

-- One person may have accounts on several channels.
CREATE TABLE accounts (
    channel TEXT NOT NULL,
    user_id TEXT NOT NULL,
    person_id TEXT NOT NULL REFERENCES people (id),
    PRIMARY KEY (channel, user_id)
);

CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    place TEXT NOT NULL,
    person_id TEXT NOT NULL,
    -- 1 when others than person_id read here: private memories stay out.
    shared BIGINT NOT NULL DEFAULT 0,
    summary TEXT NOT NULL DEFAULT '',
    -- turns.seq up to which turns are folded into the summary, and before which /new forgot them
    folded_to BIGINT NOT NULL DEFAULT 0,
    history_from BIGINT NOT NULL DEFAULT 0,
    -- when the sliding window of skill calls was last begun afresh
    window_from BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    UNIQUE (channel, place)
);

CREATE TABLE instances (
    id TEXT PRIMARY KEY,
    pid BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    beat_at BIGINT NOT NULL
);

-- The epoch only grows; a holder whose epoch is old can change nothing.
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    instance TEXT,
    epoch BIGINT NOT NULL
);
CREATE INDEX leases_instance ON leases (instance) WHERE instance IS NOT NULL;

CREATE TABLE inbox (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- channel and the platform's name of the message: the same message again is refused here
    event TEXT NOT NULL UNIQUE,
    conversation_id TEXT NOT NULL REFERENCES conversations (id),
    person_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('said', 'command', 'press', 'answer')),
    text TEXT NOT NULL,
    -- the prompt that a press or a typed answer is for
    prompt_id TEXT,
    state TEXT NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'taken', 'done', 'dead')),
    turn_id TEXT,
    -- the instance that journalled it and so answers it, unless it dies
    instance TEXT NOT NULL,
    received_at BIGINT NOT NULL
);
CREATE INDEX inbox_new ON inbox (conversation_id, id) WHERE state = 'new';
CREATE INDEX inbox_turn ON inbox (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX inbox_person ON inbox (conversation_id, person_id, id);

CREATE TABLE turns (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    conversation_id TEXT NOT NULL REFERENCES conversations (id),
    person_id TEXT NOT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('queued', 'running', 'waiting', 'completed', 'failed', 'cancelled', 'dead')),
    text TEXT NOT NULL,
    answer TEXT,
    -- JSON: the platform's names of the messages that the next answer is for
    answers TEXT NOT NULL,
    instance TEXT NOT NULL,
    -- set by Summarise and Stop, which end the turn when it goes on
    ending TEXT,
    -- limits count what came after this
    budget_from BIGINT NOT NULL,
    failures BIGINT NOT NULL DEFAULT 0,
    retry_at BIGINT NOT NULL DEFAULT 0,
    started_at BIGINT NOT NULL,
    resumed_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX turns_conversation ON turns (conversation_id, seq);
CREATE INDEX turns_open ON turns (conversation_id) WHERE ended_at IS NULL;

CREATE TABLE executions (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    turn_id TEXT NOT NULL REFERENCES turns (id),
    conversation_id TEXT NOT NULL,
    parent_id TEXT,
    kind TEXT NOT NULL CHECK (kind IN ('orchestrator', 'agent', 'skill')),
    status TEXT NOT NULL
        CHECK (status IN ('pending', 'running', 'waiting', 'completed', 'partial', 'failed', 'timeout',
                          'skipped', 'cancelled', 'unknown')),
    -- the tool call of its parent that asked for it
    call_n BIGINT,
    call_idx BIGINT,
    agent_id TEXT,
    -- JSON: what the agent was told and may use (mission, skills, context, depends_on, limits)
    task TEXT,
    skill TEXT,
    parameters TEXT,
    -- 'direct' agents run their one skill without a model
    direct BIGINT NOT NULL DEFAULT 0,
    result TEXT,
    data TEXT,
    error TEXT,
    bailout TEXT,
    -- 1 when result or data come from outside the house
    untrusted BIGINT NOT NULL DEFAULT 0,
    started_at BIGINT,
    ended_at BIGINT,
    -- a turn has one orchestrator, a name one agent, a tool call one execution
    UNIQUE (parent_id, call_n, call_idx),
    UNIQUE (turn_id, agent_id)
);
CREATE UNIQUE INDEX executions_orchestrator ON executions (turn_id) WHERE kind = 'orchestrator';
CREATE INDEX executions_turn ON executions (turn_id, seq);
CREATE INDEX executions_open ON executions (turn_id) WHERE ended_at IS NULL;
CREATE INDEX executions_window ON executions (conversation_id, started_at) WHERE kind = 'skill';

-- Stable beginnings of requests, kept once.
CREATE TABLE prefixes (
    hash TEXT PRIMARY KEY,
    system TEXT NOT NULL,
    tools TEXT NOT NULL
);

-- A model call. Its request is the prefix, the opening of call 0, then all earlier calls with their results.
CREATE TABLE calls (
    execution_id TEXT NOT NULL REFERENCES executions (id),
    n BIGINT NOT NULL,
    prefix TEXT NOT NULL,
    opening TEXT,
    text TEXT NOT NULL,
    model TEXT NOT NULL,
    error TEXT,
    prompt_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    cost_usd DOUBLE PRECISION NOT NULL,
    started_at BIGINT NOT NULL,
    duration_ms BIGINT NOT NULL,
    PRIMARY KEY (execution_id, n)
);

-- The result lives in the row of its call: there is none without a call, and never two.
CREATE TABLE tool_calls (
    execution_id TEXT NOT NULL,
    n BIGINT NOT NULL,
    idx BIGINT NOT NULL,
    call_id TEXT NOT NULL,
    name TEXT NOT NULL,
    arguments TEXT NOT NULL,
    result TEXT,
    PRIMARY KEY (execution_id, n, idx),
    UNIQUE (execution_id, call_id),
    FOREIGN KEY (execution_id, n) REFERENCES calls (execution_id, n)
);

-- A history that a provider would refuse can't be written: nothing follows an unanswered call.
CREATE FUNCTION calls_follow_results() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM tool_calls t WHERE t.execution_id = NEW.execution_id AND t.result IS NULL) THEN
        RAISE EXCEPTION 'a tool call of this execution has no result yet';
    END IF;
    RETURN NEW;
END;
$$;
CREATE TRIGGER calls_follow_results BEFORE INSERT ON calls
FOR EACH ROW EXECUTE FUNCTION calls_follow_results();

CREATE TABLE prompts (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    conversation_id TEXT NOT NULL,
    turn_id TEXT NOT NULL REFERENCES turns (id),
    -- the skill call that waits for a yes; none for "continue?"
    execution_id TEXT,
    person_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('continue', 'approve')),
    preview TEXT NOT NULL,
    -- what exactly a yes allows
    fingerprint TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'answered', 'expired')),
    answer TEXT,
    answered_by TEXT,
    outbox_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    answered_at BIGINT
);
CREATE INDEX prompts_pending ON prompts (conversation_id, seq) WHERE state = 'pending';
CREATE INDEX prompts_turn ON prompts (turn_id);

CREATE TABLE outbox (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    conversation_id TEXT NOT NULL REFERENCES conversations (id),
    turn_id TEXT,
    answers TEXT NOT NULL,
    text TEXT NOT NULL,
    choices TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'sending', 'unknown', 'sent', 'dead')),
    instance TEXT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    next_at BIGINT NOT NULL DEFAULT 0,
    receipt TEXT,
    error TEXT,
    created_at BIGINT NOT NULL,
    sent_at BIGINT
);
CREATE INDEX outbox_open ON outbox (conversation_id, seq) WHERE state IN ('pending', 'sending', 'unknown');
CREATE INDEX outbox_receipt ON outbox (conversation_id, receipt) WHERE receipt IS NOT NULL;

CREATE TABLE tasks (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    person_id TEXT NOT NULL,
    title TEXT NOT NULL,
    notes TEXT NOT NULL,
    -- as the person said it (local, date or date and time), and the moment after which it is overdue
    due TEXT,
    due_at BIGINT,
    tags TEXT NOT NULL,
    priority TEXT NOT NULL CHECK (priority IN ('low', 'normal', 'high')),
    recurrence TEXT,
    state TEXT NOT NULL CHECK (state IN ('open', 'done')),
    created_at BIGINT NOT NULL,
    completed_at BIGINT
);
CREATE INDEX tasks_person ON tasks (person_id, state, due_at);

CREATE TABLE memories (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    person_id TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('private', 'room')),
    -- the room in which a memory of scope 'room' may be recalled
    conversation_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('fact', 'preference', 'person', 'note')),
    text TEXT NOT NULL,
    tags TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX memories_person ON memories (person_id, seq);

-- The words without their accents, as the embedded database has them; more than this no index takes.
CREATE FUNCTION unaccented(text TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT regexp_replace(normalize(left(text, 200000), NFD), '[\u0300-\u036F]', '', 'g');
$$;
ALTER TABLE memories ADD COLUMN words tsvector
    GENERATED ALWAYS AS (to_tsvector('english', unaccented(text || ' ' || tags))) STORED;
CREATE INDEX memories_words ON memories USING gin (words);

-- The requests to a model that count against its requests_per_minute, where instances share it: each takes a slot, and
-- gives it back by time alone.
CREATE TABLE model_slots (
    model TEXT NOT NULL,
    slot BIGINT NOT NULL,
    taken_at BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (model, slot)
);
CREATE INDEX model_slots_taken ON model_slots (model, taken_at);

-- Until when a model's provider has asked for no more requests.
CREATE TABLE model_pauses (
    model TEXT PRIMARY KEY,
    until_at BIGINT NOT NULL
);

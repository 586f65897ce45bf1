-- Standing approvals: what people have allowed in advance. `allows` is the exact stored form of one kind of call.
CREATE TABLE rules (
    id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL,
    allows TEXT NOT NULL,
    question_id TEXT NOT NULL,
    used BIGINT NOT NULL DEFAULT 0,
    most_uses BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX rules_of_person ON rules (person_id, allows);
-- The rule that a yes to this question may become.
ALTER TABLE questions ADD COLUMN rule TEXT NOT NULL DEFAULT '';

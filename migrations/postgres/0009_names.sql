-- What is asked of a person is a question everywhere; a prompt is what a model is given.
ALTER TABLE prompts RENAME TO questions;
DROP INDEX prompts_pending;
DROP INDEX prompts_turn;
CREATE INDEX questions_pending ON questions (conversation_id, seq) WHERE state = 'pending';
CREATE INDEX questions_turn ON questions (turn_id);
-- What is asked, and what belongs to its kind: an approval's arguments, a choice's options as JSON, who may answer.
ALTER TABLE questions RENAME COLUMN preview TO subject;
ALTER TABLE questions RENAME COLUMN fingerprint TO detail;
ALTER TABLE inbox RENAME COLUMN prompt_id TO question_id;

-- Model calls that belong to no turn.
ALTER TABLE asides RENAME TO background_calls;

-- What an adapter noted of a place before it sent there, and the receipt of a turn's progress message.
ALTER TABLE outbox RENAME COLUMN mark TO checkpoint;
ALTER TABLE outbox RENAME COLUMN stand_in TO edit_of;
ALTER TABLE turns RENAME COLUMN shown TO progress_receipt;
ALTER TABLE conversations RENAME COLUMN folded_to TO compacted_to;
ALTER TABLE told RENAME TO announcements;
ALTER TABLE announcements RENAME COLUMN what TO topic;
ALTER TABLE announcements RENAME COLUMN told_at TO announced_at;
ALTER TABLE spending RENAME COLUMN told_tokens TO warned_tokens;
ALTER TABLE spending RENAME COLUMN told_nano_usd TO warned_nano_usd;

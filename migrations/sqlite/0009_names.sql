-- What is asked of a person is a question everywhere; a prompt is what a model is given.
ALTER TABLE prompts RENAME TO questions;
DROP INDEX prompts_pending;
DROP INDEX prompts_turn;
CREATE INDEX questions_pending ON questions (conversation_id, seq) WHERE state = 'pending';
CREATE INDEX questions_turn ON questions (turn_id);
ALTER TABLE inbox RENAME COLUMN prompt_id TO question_id;

-- Model calls that belong to no turn.
ALTER TABLE asides RENAME TO background_calls;

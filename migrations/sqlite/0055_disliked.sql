-- When the person put 👎 or ❌ under the turn's answer.
ALTER TABLE turns ADD COLUMN disliked_at BIGINT;

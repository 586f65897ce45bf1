-- The questions of one message stand in the order in which their effects were dispatched.
ALTER TABLE questions ADD COLUMN place BIGINT NOT NULL DEFAULT 0;
-- What nobody waits for isn't asked in quiet hours.
ALTER TABLE questions ADD COLUMN held_until BIGINT;

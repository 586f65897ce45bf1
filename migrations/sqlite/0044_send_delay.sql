-- A question that is taken for a yes when it was in the chat for so long, in milliseconds, and nobody wrote or pressed
-- anything; none: only a yes counts.
ALTER TABLE questions ADD COLUMN delay BIGINT;

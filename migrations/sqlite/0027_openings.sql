-- The turn whose first messages keep the text of the summary; those of later turns name it.
ALTER TABLE conversations ADD COLUMN summary_turn BIGINT NOT NULL DEFAULT 0;

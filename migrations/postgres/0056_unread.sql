-- Since when the folder that a watch reads can't be read.
ALTER TABLE watches ADD COLUMN unread_since BIGINT;

-- How much of a processor an instance used of late, in thousandths: the others leave more to one that uses less.
ALTER TABLE instances ADD COLUMN load BIGINT NOT NULL DEFAULT 0;

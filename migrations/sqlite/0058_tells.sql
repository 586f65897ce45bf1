-- Whether each run of a schedule tells something; one that was made before may end silently.
ALTER TABLE schedules ADD COLUMN tells BIGINT NOT NULL DEFAULT 0;

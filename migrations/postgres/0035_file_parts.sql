-- What files contain, in parts, for all machines that share this database. The folder of each machine is a copy. Parts of
-- a file that has no row in attachments are removed after a while.
CREATE TABLE file_parts (
    file_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    content BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (file_id, number)
);
-- Most files are compressed already.
ALTER TABLE file_parts ALTER COLUMN content SET STORAGE EXTERNAL;

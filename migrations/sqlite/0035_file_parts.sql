-- What files contain, in parts, for all machines that share a database. This one is a file on one machine, which keeps
-- them in its folder, so the table stays empty.
CREATE TABLE file_parts (
    file_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    content BLOB NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (file_id, number)
);

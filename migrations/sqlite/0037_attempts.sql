-- What strangers sent and is being opened, and how often that was begun and didn't end. `what` is a digest.
CREATE TABLE attempts (
    what TEXT PRIMARY KEY,
    number BIGINT NOT NULL,
    at BIGINT NOT NULL
);

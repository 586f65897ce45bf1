-- How far a call has come that must not be made twice: a mail is handed_over before its content is, then accepted.
ALTER TABLE executions ADD COLUMN phase TEXT;

-- Calendar objects and contacts of people for whom no server keeps them, as iCalendar and vCard text.
CREATE TABLE objects (
    person_id TEXT NOT NULL REFERENCES people (id),
    kind TEXT NOT NULL CHECK (kind IN ('event', 'contact')),
    id TEXT NOT NULL,
    text TEXT NOT NULL,
    -- counts the changes, so that none is made on what somebody else has changed meanwhile
    version BIGINT NOT NULL DEFAULT 1,
    -- when an event first starts and when it is over for good, if it ever is; in milliseconds
    starts_at BIGINT,
    over_at BIGINT,
    PRIMARY KEY (person_id, kind, id)
);

-- What people were told of its own accord, so that it is told once: a mail that came back, by its name in the mailbox.
CREATE TABLE told (
    what TEXT PRIMARY KEY,
    told_at BIGINT NOT NULL
);

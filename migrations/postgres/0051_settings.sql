-- Changes of the configuration file by owners on the web page. keys: what was changed, a JSON list. digest: SHA-256 of the file
-- after it.
CREATE TABLE settings_changes (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person_id TEXT NOT NULL,
    keys TEXT NOT NULL,
    digest TEXT NOT NULL,
    changed_at BIGINT NOT NULL
);
CREATE INDEX settings_changes_person ON settings_changes (person_id);

-- Passkeys, with which people sign in on the web page. key: the name that the device gave it; user_handle: our id of the
-- person when it was made; public_key: in COSE; each in base64. counter: how often it has signed. browser: what the browser
-- calls itself in which it was made.
CREATE TABLE passkeys (
    key TEXT PRIMARY KEY,
    person_id TEXT NOT NULL REFERENCES people (id),
    user_handle TEXT NOT NULL,
    public_key TEXT NOT NULL,
    counter BIGINT NOT NULL,
    browser TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    used_at BIGINT
);
CREATE INDEX passkeys_person ON passkeys (person_id);
-- Digests of the challenges that were answered, as long as they could be answered again.
CREATE TABLE answered_challenges (
    digest TEXT PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
-- Whether it began with a passkey, not with a link.
ALTER TABLE web_sessions ADD COLUMN by_passkey BIGINT NOT NULL DEFAULT 0;

-- Accounts of people at providers of mail, calendars and contacts. person_id NULL: of those in account_people, or of
-- everybody if there is nobody. services: what its login grants, JSON. settings: servers and choices without secrets, JSON.
-- used_by: the turn that used it last.
CREATE TABLE connected_accounts (
    id TEXT PRIMARY KEY,
    person_id TEXT REFERENCES people (id),
    label TEXT NOT NULL,
    provider TEXT NOT NULL,
    address TEXT NOT NULL,
    services TEXT NOT NULL,
    settings TEXT NOT NULL DEFAULT '{}',
    state TEXT NOT NULL,
    is_mail_default BIGINT NOT NULL DEFAULT 0,
    is_events_default BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    used_at BIGINT,
    used_by TEXT
);
-- A label is unique for its person.
CREATE UNIQUE INDEX connected_accounts_label ON connected_accounts (person_id, label);
CREATE TABLE account_people (
    account_id TEXT NOT NULL REFERENCES connected_accounts (id),
    person_id TEXT NOT NULL REFERENCES people (id),
    PRIMARY KEY (account_id, person_id)
);
CREATE INDEX account_people_person ON account_people (person_id);
-- Logins under way. Each is good once and for five minutes. sealed: its secrets; nonce, oauth_state and browser: SHA-256
-- digests of what the link, the provider's answer and the browser carry. account_id: the account that needs a new login.
-- changed_at: when its state changed, or the provider was last asked about its device code.
CREATE TABLE logins (
    id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL REFERENCES people (id),
    conversation_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    account_id TEXT,
    state TEXT NOT NULL,
    nonce TEXT NOT NULL UNIQUE,
    oauth_state TEXT NOT NULL UNIQUE,
    browser TEXT,
    sealed TEXT NOT NULL,
    redirect TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
);
CREATE INDEX logins_person ON logins (person_id);
-- Sealed tokens and passwords, by name: account/ID, oauth/NAME, mcp/NAME; key/salt: of a passphrase, not sealed. version grows
-- with each change. locked_until, locked_by: an instance renews it.
CREATE TABLE secrets (
    name TEXT PRIMARY KEY,
    sealed TEXT NOT NULL,
    version BIGINT NOT NULL,
    locked_until BIGINT NOT NULL DEFAULT 0,
    locked_by TEXT NOT NULL DEFAULT ''
);
-- The account that a call works with, fixed when its row is written; empty: none.
ALTER TABLE executions ADD COLUMN account TEXT NOT NULL DEFAULT '';

-- The passkey that a session began with, and ends with.
ALTER TABLE web_sessions ADD COLUMN passkey TEXT REFERENCES passkeys (key) ON DELETE CASCADE;

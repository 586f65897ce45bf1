-- JSON: a voice note until it is heard. Its message waits for its text, and what was written after it waits behind it.
ALTER TABLE inbox ADD COLUMN voice TEXT;
-- 1 for what was spoken.
ALTER TABLE inbox ADD COLUMN spoken BIGINT NOT NULL DEFAULT 0;

-- What an answer to a voice note says aloud: its text is what to say, and this the sound (base64), empty until it is
-- made.
ALTER TABLE outbox ADD COLUMN speech TEXT;

-- How much sound a call listened to or made.
ALTER TABLE background_calls ADD COLUMN audio_ms BIGINT NOT NULL DEFAULT 0;

-- How a message is sent: each form is what is left when the platform has refused the one before, from this part on.
ALTER TABLE outbox ADD COLUMN form TEXT NOT NULL DEFAULT 'rich';
ALTER TABLE outbox ADD COLUMN form_part BIGINT NOT NULL DEFAULT 0;
-- Whether only a file is left to send, which is tried beside later messages.
ALTER TABLE outbox ADD COLUMN only_file BIGINT NOT NULL DEFAULT 0;

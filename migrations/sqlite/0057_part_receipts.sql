-- The receipts of a message's parts, each between commas, if there are several.
ALTER TABLE outbox ADD COLUMN receipts TEXT;
CREATE INDEX outbox_receipts ON outbox (conversation_id) WHERE receipts IS NOT NULL;

-- Progress messages that a crash left behind are looked for when a channel is taken over.
CREATE INDEX turns_progress ON turns (conversation_id) WHERE progress_receipt IS NOT NULL;

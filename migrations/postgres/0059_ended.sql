-- The turns of a conversation whose texts are still there, by when they ended: its history is read from the newest.
CREATE INDEX turns_ended ON turns (conversation_id, ended_at) WHERE ended_at IS NOT NULL AND bodies_emptied_at IS NULL;

-- The newest results of work in the background, which a conversation's history places by when they ended.
CREATE INDEX turns_background ON turns (conversation_id, ended_at) WHERE background <> 0 AND ended_at IS NOT NULL;

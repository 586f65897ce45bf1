-- When a turn's texts, and what its models and skills were told and answered, were emptied because they were old.
ALTER TABLE turns ADD COLUMN bodies_emptied_at BIGINT;
ALTER TABLE turns ADD COLUMN traces_emptied_at BIGINT;
CREATE INDEX turns_bodies ON turns (ended_at) WHERE ended_at IS NOT NULL AND bodies_emptied_at IS NULL;
CREATE INDEX turns_traces ON turns (ended_at) WHERE ended_at IS NOT NULL AND traces_emptied_at IS NULL;

-- What was said in a turn, and what belongs to none.
CREATE INDEX outbox_turn ON outbox (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX outbox_alone ON outbox (created_at) WHERE turn_id IS NULL AND text <> '';
CREATE INDEX inbox_alone ON inbox (received_at) WHERE turn_id IS NULL AND state = 'done' AND text <> '';

CREATE INDEX memories_age ON memories (created_at);

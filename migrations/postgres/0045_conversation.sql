-- The number of the orchestrator's last answer whose text beside its calls the person has been shown; -1: none.
ALTER TABLE turns ADD COLUMN shown_round BIGINT NOT NULL DEFAULT -1;
-- What was said before this version isn't shown now.
UPDATE turns SET shown_round = coalesce((SELECT max(c.n) FROM executions e JOIN calls c ON c.execution_id = e.id
    WHERE e.turn_id = turns.id AND e.kind = 'orchestrator'), -1) WHERE ended_at IS NULL;

-- What a memory is about, in two or three words that name a single thing of the person ("home town"), so that a new one
-- meets the old one; empty: nothing in particular.
ALTER TABLE memories ADD COLUMN topic TEXT NOT NULL DEFAULT '';

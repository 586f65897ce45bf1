-- Where texts came from. A source is a line: `the mail “Offsite” from dana@example.test`.
ALTER TABLE inbox ADD COLUMN taint TEXT NOT NULL DEFAULT '';
-- of the message itself, and of everything that the turn read
ALTER TABLE turns ADD COLUMN text_taint TEXT NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN taint TEXT NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN taint TEXT NOT NULL DEFAULT '';
ALTER TABLE conversations ADD COLUMN summary_taint TEXT NOT NULL DEFAULT '';

-- What a person keeps that was made from outside text, by its domain and id, on a server too.
CREATE TABLE taints (
    person_id TEXT NOT NULL REFERENCES people (id),
    domain TEXT NOT NULL,
    id TEXT NOT NULL,
    sources TEXT NOT NULL,
    PRIMARY KEY (domain, id)
);

-- JSON: how to take an effect back, and the call that did.
ALTER TABLE executions ADD COLUMN undo TEXT;
ALTER TABLE executions ADD COLUMN undone_by TEXT;
-- An approval as it is shown. One that isn't asked yet has no outbox row: it is asked together with the others of its turn.
ALTER TABLE questions ADD COLUMN body TEXT NOT NULL DEFAULT '';

-- What is there already is the person's own, unless the work that made it had read something from outside.
UPDATE executions SET taint = 'text from outside, read by an earlier version' WHERE untrusted = 1;
UPDATE executions SET taint = 'text from outside, read by an earlier version' WHERE taint = '' AND EXISTS
    (SELECT 1 FROM executions e WHERE e.turn_id = executions.turn_id AND e.untrusted = 1 AND e.seq < executions.seq);
UPDATE turns SET taint = 'text from outside, read by an earlier version'
    WHERE EXISTS (SELECT 1 FROM executions e WHERE e.turn_id = turns.id AND e.taint <> '');
UPDATE conversations SET summary_taint = 'text from outside, read by an earlier version' WHERE summary <> '' AND EXISTS
    (SELECT 1 FROM turns t WHERE t.conversation_id = conversations.id AND t.taint <> '' AND t.seq <= compacted_to);
INSERT INTO taints (person_id, domain, id, sources)
    SELECT min(t.person_id), substr(e.skill, 1, instr(e.skill, '.') - 1), json_extract(e.data, '$.id'), 'text from outside, read by an earlier version'
    FROM executions e JOIN turns t ON t.id = e.turn_id
    WHERE e.kind = 'skill' AND e.status = 'completed' AND e.taint <> '' AND e.data LIKE '{%' AND json_extract(e.data, '$.id') IS NOT NULL
    AND e.skill IN ('tasks.create', 'tasks.update', 'memory.save', 'schedule.create', 'contacts.create', 'contacts.update',
                    'calendar.create_event', 'calendar.update_event')
    GROUP BY 2, 3;

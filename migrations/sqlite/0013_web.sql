-- Who is signed in on the web page. A code lets one browser in; only digests of codes and sessions are kept.
CREATE TABLE web_codes (
    digest TEXT PRIMARY KEY,
    person_id TEXT NOT NULL REFERENCES people (id),
    expires_at BIGINT NOT NULL
);
CREATE TABLE web_sessions (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    person_id TEXT NOT NULL REFERENCES people (id),
    -- what the browser calls itself
    browser TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX web_sessions_person ON web_sessions (person_id);
CREATE INDEX turns_person ON turns (person_id, seq);

-- What changed, for open pages: ids and statuses, no texts. Written by triggers, so that nothing can be forgotten, and
-- only while somebody is signed in. Old rows are deleted. `tx` orders rows by their commits on a server; here it is 0.
CREATE TABLE changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    tx BIGINT NOT NULL DEFAULT 0,
    person_id TEXT NOT NULL,
    turn_id TEXT,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    status TEXT NOT NULL
);
CREATE INDEX changes_order ON changes (tx, seq);

CREATE TRIGGER turns_insert_changes AFTER INSERT ON turns WHEN EXISTS (SELECT 1 FROM web_sessions) BEGIN
    INSERT INTO changes (person_id, turn_id, kind, id, status)
    VALUES (coalesce(NEW.person_id, ''), NEW.id, 'turn', NEW.id, NEW.status);
END;
CREATE TRIGGER turns_update_changes AFTER UPDATE OF status ON turns WHEN NEW.status <> OLD.status AND EXISTS (SELECT 1 FROM web_sessions) BEGIN
    INSERT INTO changes (person_id, turn_id, kind, id, status)
    VALUES (coalesce(NEW.person_id, ''), NEW.id, 'turn', NEW.id, NEW.status);
END;
CREATE TRIGGER executions_insert_changes AFTER INSERT ON executions WHEN EXISTS (SELECT 1 FROM web_sessions) BEGIN
    INSERT INTO changes (person_id, turn_id, kind, id, status)
    VALUES (coalesce((SELECT person_id FROM turns WHERE id = NEW.turn_id), ''), NEW.turn_id, 'execution', NEW.id, NEW.status);
END;
CREATE TRIGGER executions_update_changes AFTER UPDATE OF status ON executions WHEN NEW.status <> OLD.status AND EXISTS (SELECT 1 FROM web_sessions) BEGIN
    INSERT INTO changes (person_id, turn_id, kind, id, status)
    VALUES (coalesce((SELECT person_id FROM turns WHERE id = NEW.turn_id), ''), NEW.turn_id, 'execution', NEW.id, NEW.status);
END;
CREATE TRIGGER questions_insert_changes AFTER INSERT ON questions WHEN EXISTS (SELECT 1 FROM web_sessions) BEGIN
    INSERT INTO changes (person_id, turn_id, kind, id, status)
    VALUES (coalesce(NEW.person_id, ''), NEW.turn_id, 'question', NEW.id, NEW.state);
END;
CREATE TRIGGER questions_update_changes AFTER UPDATE OF state ON questions WHEN NEW.state <> OLD.state AND EXISTS (SELECT 1 FROM web_sessions) BEGIN
    INSERT INTO changes (person_id, turn_id, kind, id, status)
    VALUES (coalesce(NEW.person_id, ''), NEW.turn_id, 'question', NEW.id, NEW.state);
END;
CREATE TRIGGER outbox_insert_changes AFTER INSERT ON outbox WHEN EXISTS (SELECT 1 FROM web_sessions) BEGIN
    INSERT INTO changes (person_id, turn_id, kind, id, status)
    VALUES (coalesce(coalesce((SELECT person_id FROM turns WHERE id = NEW.turn_id), (SELECT person_id FROM conversations WHERE id = NEW.conversation_id)), ''), NEW.turn_id, 'message', NEW.id, NEW.state);
END;
CREATE TRIGGER outbox_update_changes AFTER UPDATE OF state ON outbox WHEN NEW.state <> OLD.state AND EXISTS (SELECT 1 FROM web_sessions) BEGIN
    INSERT INTO changes (person_id, turn_id, kind, id, status)
    VALUES (coalesce(coalesce((SELECT person_id FROM turns WHERE id = NEW.turn_id), (SELECT person_id FROM conversations WHERE id = NEW.conversation_id)), ''), NEW.turn_id, 'message', NEW.id, NEW.state);
END;
CREATE TRIGGER inbox_insert_changes AFTER INSERT ON inbox WHEN EXISTS (SELECT 1 FROM web_sessions) BEGIN
    INSERT INTO changes (person_id, turn_id, kind, id, status)
    VALUES (NEW.person_id, NEW.turn_id, 'arrival', CAST(NEW.id AS TEXT), NEW.state);
END;

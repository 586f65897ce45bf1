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
-- only while somebody is signed in. Old rows are deleted. Rows are read in the order of (tx, seq), and only once no older
-- transaction is under way: a number that is drawn early may be committed late.
CREATE TABLE changes (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tx BIGINT NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
    person_id TEXT NOT NULL,
    turn_id TEXT,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    status TEXT NOT NULL
);
CREATE INDEX changes_order ON changes (tx, seq);

CREATE FUNCTION note_change(person TEXT, turn TEXT, kind TEXT, id TEXT, status TEXT) RETURNS void LANGUAGE sql AS $$
    INSERT INTO changes (person_id, turn_id, kind, id, status)
    SELECT coalesce(person, ''), turn, kind, id, status WHERE EXISTS (SELECT 1 FROM web_sessions);
$$;

CREATE FUNCTION turns_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.status <> OLD.status THEN
        PERFORM note_change(NEW.person_id, NEW.id, 'turn', NEW.id, NEW.status);
    END IF;
    RETURN NEW;
END;
$$;
CREATE TRIGGER turns_changes AFTER INSERT OR UPDATE OF status ON turns
FOR EACH ROW EXECUTE FUNCTION turns_changes();

CREATE FUNCTION executions_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.status <> OLD.status THEN
        PERFORM note_change((SELECT person_id FROM turns WHERE id = NEW.turn_id), NEW.turn_id, 'execution', NEW.id, NEW.status);
    END IF;
    RETURN NEW;
END;
$$;
CREATE TRIGGER executions_changes AFTER INSERT OR UPDATE OF status ON executions
FOR EACH ROW EXECUTE FUNCTION executions_changes();

CREATE FUNCTION questions_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.state <> OLD.state THEN
        PERFORM note_change(NEW.person_id, NEW.turn_id, 'question', NEW.id, NEW.state);
    END IF;
    RETURN NEW;
END;
$$;
CREATE TRIGGER questions_changes AFTER INSERT OR UPDATE OF state ON questions
FOR EACH ROW EXECUTE FUNCTION questions_changes();

CREATE FUNCTION outbox_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.state <> OLD.state THEN
        PERFORM note_change(coalesce((SELECT person_id FROM turns WHERE id = NEW.turn_id), (SELECT person_id FROM conversations WHERE id = NEW.conversation_id)), NEW.turn_id, 'message', NEW.id, NEW.state);
    END IF;
    RETURN NEW;
END;
$$;
CREATE TRIGGER outbox_changes AFTER INSERT OR UPDATE OF state ON outbox
FOR EACH ROW EXECUTE FUNCTION outbox_changes();

CREATE FUNCTION inbox_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM note_change(NEW.person_id, NEW.turn_id, 'arrival', NEW.id::text, NEW.state);
    RETURN NEW;
END;
$$;
CREATE TRIGGER inbox_changes AFTER INSERT ON inbox FOR EACH ROW EXECUTE FUNCTION inbox_changes();

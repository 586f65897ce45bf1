-- Runs the statements of a write in one round trip. Each is [text, whether it must touch a row, whether it returns rows];
-- $1 in a text is the list of all arguments. Returns the number of a statement and a value that it returned. One that
-- had to touch a row and didn't undoes everything: by an error whose message is its number, or, while there is nothing to
-- undo, by its number with no value, because an error would go into the server's log.
CREATE FUNCTION apply_statements(request TEXT) RETURNS TABLE (statement BIGINT, value BIGINT) LANGUAGE plpgsql AS $$
DECLARE
    arguments TEXT[];
    one JSONB;
    found_rows BIGINT;
    has_written BOOLEAN := FALSE;
BEGIN
    SELECT array_agg(item ORDER BY at) INTO arguments
        FROM jsonb_array_elements_text(request::jsonb -> 'arguments') WITH ORDINALITY AS list (item, at);
    FOR one, statement IN
        SELECT item, at FROM jsonb_array_elements(request::jsonb -> 'statements') WITH ORDINALITY AS list (item, at) ORDER BY at
    LOOP
        found_rows := 0;
        IF (one ->> 2)::boolean THEN
            FOR value IN EXECUTE one ->> 0 USING arguments LOOP
                found_rows := found_rows + 1;
                RETURN NEXT;
            END LOOP;
        ELSE
            EXECUTE one ->> 0 USING arguments;
            GET DIAGNOSTICS found_rows = ROW_COUNT;
        END IF;
        IF found_rows = 0 AND (one ->> 1)::boolean THEN
            IF has_written THEN
                RAISE EXCEPTION '%', statement USING ERRCODE = 'AD001';
            END IF;
            value := NULL;
            RETURN NEXT;
            RETURN;
        END IF;
        has_written := has_written OR (found_rows > 0 AND one ->> 0 NOT LIKE 'SELECT%');
    END LOOP;
END $$;

CREATE INDEX taints_person ON taints (person_id);
-- What a marked thing is called, and its number in its person's list, which doesn't change while it is there.
ALTER TABLE taints ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE taints ADD COLUMN number BIGINT NOT NULL DEFAULT 0;
UPDATE taints SET number = (SELECT count(*) FROM taints other WHERE other.person_id = taints.person_id
    AND (other.domain < taints.domain OR (other.domain = taints.domain AND other.id <= taints.id)));

-- Where an instance runs, its version, and a digest of each of its settings, so that instances that differ are told apart.
ALTER TABLE instances ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE instances ADD COLUMN version TEXT NOT NULL DEFAULT '';
ALTER TABLE instances ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';

-- What memories were before they were corrected, and those that they were joined with: forgetting one reaches what was
-- said of all of them.
CREATE TABLE memory_formers (
    memory_id TEXT NOT NULL,
    former_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (memory_id, former_id)
);
CREATE INDEX memory_formers_person ON memory_formers (person_id);
CREATE FUNCTION memories_formers_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM memory_formers WHERE memory_id = OLD.id;
    RETURN NULL;
END;
$$;
CREATE TRIGGER memories_formers_delete AFTER DELETE ON memories
FOR EACH ROW EXECUTE FUNCTION memories_formers_delete();

-- A memory that loses its past keeps its place, and nothing of the words that it had.
CREATE FUNCTION memories_words_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM search_words WHERE document = OLD.seq * 2 + 1;
    DELETE FROM search_vectors WHERE document = OLD.seq * 2 + 1;
    RETURN NULL;
END;
$$;
CREATE TRIGGER memories_words_text AFTER UPDATE OF text ON memories
FOR EACH ROW EXECUTE FUNCTION memories_words_text();

-- Forgetting reaches everything that says a memory, and what processes keep of vectors.

-- The turns that say a memory: it was taken from the first, and the others said it again.
CREATE TABLE memory_turns (
    memory_id TEXT NOT NULL,
    person_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    PRIMARY KEY (memory_id, turn_id)
);
CREATE INDEX memory_turns_person ON memory_turns (person_id);
INSERT INTO memory_turns (memory_id, person_id, turn_id) SELECT memory_id, person_id, turn_id FROM memory_origins;
CREATE TRIGGER memories_turns_delete AFTER DELETE ON memories BEGIN
    DELETE FROM memory_turns WHERE memory_id = OLD.id;
END;
-- what was forgotten is emptied after a while
CREATE INDEX turns_forgotten ON turns (forgotten_at) WHERE forgotten_at IS NOT NULL;

-- A process keeps vectors that it has read, and compares these before each use: `made` is the number of the last write of
-- vectors, `gone` changes when vectors went.
ALTER TABLE vector_models ADD COLUMN made BIGINT NOT NULL DEFAULT 0;
ALTER TABLE vector_models ADD COLUMN gone BIGINT NOT NULL DEFAULT 0;
-- the number of the write that made it
ALTER TABLE search_vectors ADD COLUMN made BIGINT NOT NULL DEFAULT 0;
CREATE INDEX search_vectors_made ON search_vectors (made);
CREATE TRIGGER search_vectors_gone AFTER DELETE ON search_vectors WHEN OLD.vector <> '' BEGIN
    UPDATE vector_models SET gone = gone + 1;
END;

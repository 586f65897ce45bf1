-- The words of memories and of what was said, for a ranking of our own: the same on both databases.
-- `space` says whose words they are (a digest, see `memory/index.rs`), `document` is a memory's seq * 2 + 1 or a turn's
-- seq * 2, `impact` how much the word says about the text, in thousandths.
CREATE TABLE search_words (
    space BIGINT NOT NULL,
    word TEXT COLLATE "C" NOT NULL,
    document BIGINT NOT NULL,
    impact BIGINT NOT NULL
);
CREATE UNIQUE INDEX search_words_word ON search_words (space, word, document DESC, impact);
CREATE INDEX search_words_document ON search_words (document);

-- The words are made beside the turns, and before a search.
ALTER TABLE memories ADD COLUMN indexed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN indexed BIGINT NOT NULL DEFAULT 0;
-- when the person asked to forget what it says: no model sees it any more
ALTER TABLE turns ADD COLUMN forgotten_at BIGINT;
CREATE INDEX memories_unindexed ON memories (seq) WHERE indexed = 0;
CREATE INDEX turns_unindexed ON turns (seq) WHERE indexed = 0 AND ended_at IS NOT NULL;

-- Memories that were taken from what somebody wrote: from where, by which words, and what they are about.
CREATE TABLE memory_origins (
    memory_id TEXT PRIMARY KEY,
    person_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    quote TEXT NOT NULL,
    topic TEXT NOT NULL,
    -- how often it was said
    strength BIGINT NOT NULL
);
CREATE INDEX memory_origins_person ON memory_origins (person_id, topic);
-- turns.seq up to which facts were taken
ALTER TABLE conversations ADD COLUMN extracted_to BIGINT NOT NULL DEFAULT 0;

-- No word and no origin outlives its text, whoever deletes or empties that.
CREATE FUNCTION memories_words_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM search_words WHERE document = OLD.seq * 2 + 1;
    DELETE FROM memory_origins WHERE memory_id = OLD.id;
    RETURN NULL;
END;
$$;
CREATE TRIGGER memories_words_delete AFTER DELETE ON memories
FOR EACH ROW EXECUTE FUNCTION memories_words_delete();
CREATE FUNCTION turns_words_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM search_words WHERE document = OLD.seq * 2;
    RETURN NULL;
END;
$$;
CREATE TRIGGER turns_words_delete AFTER DELETE ON turns
FOR EACH ROW EXECUTE FUNCTION turns_words_delete();
CREATE TRIGGER turns_words_empty AFTER UPDATE OF bodies_emptied_at, forgotten_at ON turns
FOR EACH ROW WHEN (NEW.bodies_emptied_at IS NOT NULL OR NEW.forgotten_at IS NOT NULL) EXECUTE FUNCTION turns_words_delete();

ALTER TABLE memories DROP COLUMN words;
DROP FUNCTION unaccented(TEXT);

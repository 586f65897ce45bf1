-- Vectors of memories and of what was said, while vectors are wanted: a row for each text that has words in search_words.
-- `document` is as there. `model` made the vector, with its length; '' before. A text that the model refuses has none.
CREATE TABLE search_vectors (
    document BIGINT PRIMARY KEY,
    model TEXT NOT NULL,
    -- a byte a dimension, as base64
    vector TEXT NOT NULL
);
CREATE INDEX search_vectors_model ON search_vectors (model);
-- what makes them; without a row, new texts get none
CREATE TABLE vector_models (
    model TEXT PRIMARY KEY
);

-- when it was last found for a turn
ALTER TABLE memories ADD COLUMN recalled_at BIGINT;

-- No vector outlives its text.
CREATE TRIGGER memories_vectors_delete AFTER DELETE ON memories BEGIN
    DELETE FROM search_vectors WHERE document = OLD.seq * 2 + 1;
END;
CREATE TRIGGER turns_vectors_delete AFTER DELETE ON turns BEGIN
    DELETE FROM search_vectors WHERE document = OLD.seq * 2;
END;
CREATE TRIGGER turns_vectors_empty AFTER UPDATE OF bodies_emptied_at, forgotten_at ON turns
WHEN NEW.bodies_emptied_at IS NOT NULL OR NEW.forgotten_at IS NOT NULL BEGIN
    DELETE FROM search_vectors WHERE document = OLD.seq * 2;
END;

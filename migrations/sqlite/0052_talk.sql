-- What was said in a room is found by who said it, and a message by its files: these are read again, beside the turns. What
-- is there is found meanwhile.
UPDATE turns SET indexed = 0 WHERE conversation_id IN (SELECT id FROM conversations WHERE shared = 1)
OR id IN (SELECT i.turn_id FROM inbox i JOIN attachments a ON a.event = i.event WHERE i.turn_id IS NOT NULL);

-- No word outlives its file: the message is read again without it.
CREATE TRIGGER attachments_words_delete AFTER DELETE ON attachments BEGIN
    DELETE FROM search_words WHERE document IN
        (SELECT t.seq * 2 FROM turns t JOIN inbox i ON i.turn_id = t.id WHERE i.event = OLD.event);
    UPDATE turns SET indexed = 0 WHERE id IN (SELECT turn_id FROM inbox WHERE event = OLD.event);
END;

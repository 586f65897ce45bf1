-- Words are kept with their parts, and without the ligatures and points of their letters: all texts are read again, beside
-- the turns. What is there is found meanwhile.
UPDATE memories SET indexed = 0;
UPDATE turns SET indexed = 0;

CREATE INDEX taints_person ON taints (person_id);
-- What a marked thing is called, and its number in its person's list, which doesn't change while it is there.
ALTER TABLE taints ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE taints ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
UPDATE taints SET number = (SELECT count(*) FROM taints other WHERE other.person_id = taints.person_id
    AND (other.domain < taints.domain OR (other.domain = taints.domain AND other.id <= taints.id)));

-- Where an instance runs, its version, and a digest of each of its settings, so that instances that differ are told apart.
ALTER TABLE instances ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE instances ADD COLUMN version TEXT NOT NULL DEFAULT '';
ALTER TABLE instances ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';

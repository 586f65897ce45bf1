-- Which version of its plan a run is of: a rest that changes after a failed step is another version, which runs after a yes.
ALTER TABLE runs ADD COLUMN plan_version BIGINT;

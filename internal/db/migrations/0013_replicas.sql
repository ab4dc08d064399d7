-- oldest: 0012: only tables are added
-- The processes that run, so that a migration can check which schemas they know, and the progress
-- of steps.

-- Every process that serves has a row, from its start to its orderly stop. One that was killed
-- leaves it: it counts as running for 5 minutes after `seen`. The schemas are the newest that the
-- process knows, of the metadata and of the access log.
CREATE TABLE replicas (
    id           TEXT PRIMARY KEY,      -- its host and a few random digits
    version      TEXT NOT NULL,         -- of the program
    schema       BIGINT NOT NULL,
    audit_schema BIGINT NOT NULL,
    seen         BIGINT NOT NULL        -- ms since 1970, by the clock of the database
);

-- Backfills and index builds that go on after the migration that they belong to
-- (internal/db/steps.go). A step that has not begun has no row.
CREATE TABLE schema_steps (
    name         TEXT PRIMARY KEY,
    position     TEXT NOT NULL,         -- where a backfill goes on; the step's own form, '' for its beginning
    holder       TEXT,                  -- the replica that works on it, null for none
    held_until   BIGINT NOT NULL,       -- ms; from then on another replica may go on
    completed_at BIGINT                 -- ms; null until then. An index is complete when it is there and valid, whatever stands here
);

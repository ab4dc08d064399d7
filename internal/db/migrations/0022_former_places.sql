-- oldest: 0013: tables, and columns with defaults, are added. No place is recorded while a replica
-- runs that records none (files.recordPlace)
-- The places that entries had, for a folder as it was at an earlier time.

-- ms: the entry has its parent and name, or its content, from then; 0: from created_at
ALTER TABLE entries ADD COLUMN place_since BIGINT NOT NULL DEFAULT 0;
ALTER TABLE entries ADD COLUMN content_since BIGINT NOT NULL DEFAULT 0;

-- A place that an entry had.
CREATE TABLE former_places (
    entry_id  TEXT NOT NULL,
    since     BIGINT NOT NULL,          -- ms: it was there from then
    until     BIGINT NOT NULL,          -- ms: to then, exclusive
    parent_id TEXT NOT NULL,            -- the folder; the root trash while the entry was in the trash
    name      TEXT NOT NULL,
    name_fold TEXT NOT NULL,
    sort_key  TEXT NOT NULL,
    kind      INTEGER NOT NULL,         -- of the entry
    PRIMARY KEY (entry_id, until)
);
-- a folder as it was
CREATE INDEX former_places_parent ON former_places (parent_id, until);
-- the end of the retention
CREATE INDEX former_places_age ON former_places (until);

-- The time from which everything is known about a folder that lost entries or versions before their
-- time was over.
CREATE TABLE history_gaps (
    folder_id TEXT PRIMARY KEY,
    until     BIGINT NOT NULL           -- ms
);
CREATE INDEX history_gaps_age ON history_gaps (until);

-- The time from which places are recorded without a break; no row while they are not.
CREATE TABLE history (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    since BIGINT NOT NULL               -- ms
);

-- oldest: 0013: a table, and a column with a default, are added. No gap has a beginning while a
-- replica runs that does not know of them (files.addGaps)
-- Gaps in the history of folders with their beginnings. Those without are in history_gaps.

-- The times at which a folder had something that was deleted for good.
CREATE TABLE bounded_gaps (
    folder_id TEXT NOT NULL,
    since     BIGINT NOT NULL,          -- ms
    until     BIGINT NOT NULL,          -- ms, exclusive
    PRIMARY KEY (folder_id, since)
);
-- whether a time is in a gap
CREATE INDEX bounded_gaps_until ON bounded_gaps (folder_id, until);
-- the end of the retention
CREATE INDEX bounded_gaps_age ON bounded_gaps (until);

-- 1 once all replicas know gaps with a beginning
ALTER TABLE history ADD COLUMN bounded_gaps INTEGER NOT NULL DEFAULT 0;

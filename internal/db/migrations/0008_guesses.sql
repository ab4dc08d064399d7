-- oldest: 0007: an older replica counts wrong passwords in its own memory, as before
-- Wrong passwords by target, for replicas on PostgreSQL without Redis (package kv/postgres). On SQLite
-- the table stays empty: there the one process counts in memory.

-- A row is a bucket of a rate limit. From full_at on it means nothing, and the sweep deletes it. A
-- wrong answer keeps a row for a minute, so that there are few.
CREATE TABLE guesses (
    target  TEXT PRIMARY KEY,           -- such as `password:<id>`; 71 bytes at most
    full_at BIGINT NOT NULL             -- µs since 1970
);

-- oldest: 0001: there is none before it
-- One text for both engines: PostgreSQL reads TEXT as TEXT COLLATE "C" and INTEGER PRIMARY KEY AUTOINCREMENT as an identity.
-- Times are milliseconds since the Unix epoch, sizes are bytes.

CREATE TABLE access_log (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    TEXT,                    -- null for a visitor
    key_id     TEXT,                    -- the API key that was used, null for none
    ip         TEXT,                    -- null for sums
    action     TEXT NOT NULL,
    path       TEXT NOT NULL,
    path_fold  TEXT,                    -- with its case folded; null where that changes nothing
    bytes      BIGINT NOT NULL,
    status     BIGINT NOT NULL,
    count      BIGINT NOT NULL,         -- requests that this row stands for: above 1 in the hourly sums of public reads
    created_at BIGINT NOT NULL
);
-- the list, newest first, of a span of time; the sweep of the oldest
CREATE INDEX access_log_time ON access_log (created_at, id);
-- the list of one user, of one action too, counted without the rows
CREATE INDEX access_log_user ON access_log (user_id, created_at, id, action);
-- the list of one action, counted without the rows
CREATE INDEX access_log_action ON access_log (action, created_at, id);

-- How many rows access_log has: each transaction that adds or deletes some says so here.
CREATE TABLE access_log_size (
    size BIGINT NOT NULL
);
INSERT INTO access_log_size (size) VALUES (0);

-- Requests by the minute since the Unix epoch, over all replicas.
CREATE TABLE request_minutes (
    minute   BIGINT PRIMARY KEY,
    requests BIGINT NOT NULL
);

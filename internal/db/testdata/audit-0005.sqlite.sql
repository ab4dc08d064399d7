CREATE TABLE audit_version (version BIGINT NOT NULL, oldest BIGINT NOT NULL DEFAULT 0);
INSERT INTO audit_version (version, oldest) VALUES (5, 1);
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

-- oldest: 0001: only an index is another
-- Series over time are summed without the rows, too. The old index goes last: whoever reads the access log would wait for the new one otherwise.
--
-- the list of one action, counted without the rows; its series over time
CREATE INDEX access_log_series ON access_log (action, created_at, id, status, count, bytes);
DROP INDEX access_log_action;

-- oldest: 0001: replicas of earlier versions leave the new column null
-- The id of the request that an entry comes from, null for sums. The list searches it without an index, as it searches paths.
ALTER TABLE access_log ADD COLUMN request_id TEXT;

-- oldest: 0001: an index, a column with a default and a table are added. A replica of an earlier
-- version counts no failed requests. The build of the index holds up writes to the access log, which
-- wait in memory (audit.Log).
-- Figures for the dashboard.

-- the list of failed entries, counted without the rows; their series over time
CREATE INDEX access_log_failed ON access_log (created_at, id, count, user_id) WHERE status >= 400;

-- Of the requests those that were answered with a status of 500 or more.
ALTER TABLE request_minutes ADD COLUMN failed BIGINT NOT NULL DEFAULT 0;

-- The use of each storage provider on each day, for 400 days.
CREATE TABLE storage_days (
    day         BIGINT NOT NULL,        -- since the Unix epoch, in UTC
    provider_id TEXT NOT NULL,
    bytes       BIGINT NOT NULL,
    files       BIGINT NOT NULL,
    PRIMARY KEY (day, provider_id)
);

-- oldest: 0001: replicas of earlier versions leave the new column null
-- The method of the request that an entry comes from, null for sums. It tells a change from a deletion.
ALTER TABLE access_log ADD COLUMN method TEXT;


INSERT INTO access_log (user_id, key_id, ip, action, path, path_fold, bytes, status, count, created_at, request_id, method)
    VALUES ('u1', 'pk_1', '192.0.2.1', 'download', '/home/Alice/猫.jpg', '/home/alice/猫.jpg', 5, 200, 1, 1700000000000, '5b1f0c9a3d2e4f60', 'GET');
UPDATE access_log_size SET size = 1;
INSERT INTO request_minutes VALUES (28333333, 7, 1);
INSERT INTO storage_days VALUES (19675, 'p1', 5, 1);

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

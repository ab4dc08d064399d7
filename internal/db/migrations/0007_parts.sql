-- oldest: 0007: an older replica acknowledges parts without a row, which then count as missing
-- What the service has acknowledged of uploads in parts.

-- Whether a part of the session counts only as upload_parts has it. Not so where parts may go straight to the store, and of sessions that were begun
-- before there was that table: there what the store lists counts, and upload_parts has nothing of them.
ALTER TABLE upload_sessions ADD COLUMN parts_recorded BOOLEAN NOT NULL DEFAULT FALSE;

-- What was acknowledged of each part last, or of several bodies that came at once, since the store alone knows which of those came last. The rows go with
-- that of their session.
CREATE TABLE upload_parts (
    session_id TEXT NOT NULL,
    number     BIGINT NOT NULL,
    etag       TEXT NOT NULL,           -- without quotes
    PRIMARY KEY (session_id, number, etag)
);

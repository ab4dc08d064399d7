-- oldest: 0013: a table and columns that may be null are added. An older replica writes no
-- notifications; those of an account that it deletes stay until they are 90 days old, and no account
-- reads them
-- The notifications of accounts.

-- An event that an account is told of. Its subject names the event, so that it is written once,
-- however many replicas and sweeps see it. An account has at most 500; they stay for 90 days.
CREATE TABLE notifications (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL,
    subject    TEXT NOT NULL,           -- job:<id>, share:<id>:<end>, quota:<time>, upload:<id>
    kind       TEXT NOT NULL,           -- job, share, quota or upload
    params     TEXT NOT NULL,           -- JSON: notice.Params
    created_at BIGINT NOT NULL,         -- ms
    read_at    BIGINT                   -- ms; null while it is unread
);
-- an event is written once
CREATE UNIQUE INDEX notifications_subject ON notifications (user_id, subject);
-- the notifications of an account, newest first, and their number
CREATE INDEX notifications_user ON notifications (user_id, created_at, id);
-- the sweep of old notifications
CREATE INDEX notifications_age ON notifications (created_at);

-- The expires_at that the creator of a share was reminded of; null for none.
ALTER TABLE shares ADD COLUMN reminded_for BIGINT;

-- When a user was told that the quota is nearly used up, ms; null again when it is not any more.
ALTER TABLE quotas ADD COLUMN warned_at BIGINT;

-- oldest: 0013: a column that may be null is added; an older replica does not fill it
-- When an account was last used, beyond the end of its sessions.

-- The last use of the sessions of the user whose rows are deleted, ms; null for none.
ALTER TABLE users ADD COLUMN last_seen_at BIGINT;

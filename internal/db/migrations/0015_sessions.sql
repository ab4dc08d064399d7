-- oldest: 0013: a table and columns that may be null are added; Tx.RequireSchema keeps older
-- replicas away as soon as a single session is ended
-- The sessions of each account, so that a user can see them and end one.

-- A row per sign-in. A token that an older replica issued has none; its next use adds it. An ended
-- session keeps its row until its token expires, so that no use adds it again. A session also ends
-- when one of the two versions of its user changes; then its row is deleted.
CREATE TABLE sessions (
    id              TEXT PRIMARY KEY,   -- the token's `jti`
    user_id         TEXT NOT NULL,
    session_version BIGINT NOT NULL,    -- of the user, at the sign-in
    role_version    BIGINT NOT NULL,
    agent           TEXT NOT NULL,      -- User-Agent of the sign-in, at most 300 bytes
    ip              TEXT NOT NULL,      -- address of the sign-in
    created_at      BIGINT NOT NULL,    -- ms
    last_used_at    BIGINT NOT NULL,    -- ms; written at most once a minute
    expires_at      BIGINT NOT NULL,    -- ms; of the token
    ended_at        BIGINT              -- ms; null while the session lasts
);
-- the sessions of an account, and ending them
CREATE INDEX sessions_user ON sessions (user_id);
-- the sweep of expired sessions
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- When the user ended all other sessions, ms: tokens without a row ended as well. Null for never.
ALTER TABLE users ADD COLUMN unlisted_ended_at BIGINT;

-- The session that issued a token, which ends with it. Null for none, for a signed link, and for a
-- token of an older replica.
ALTER TABLE download_tokens ADD COLUMN session_id TEXT;

-- oldest: 0004: an older replica completes a session of mode presigned with the staging key as its object
-- Stores that clients reach themselves, and free mode.

-- How the bytes come: through the service, or by pre-signed addresses straight to the store. Of a single session whose bytes do, object_key is where
-- they wait until they are copied to where nobody can write, unless sha256 is there: then others have come through the service, and lie at object_key.
ALTER TABLE upload_sessions ADD COLUMN upload_mode TEXT NOT NULL DEFAULT 'worker' CHECK (upload_mode IN ('worker', 'presigned'));

-- When the store was told of the parts, which a session may have taken over from one that has expired; NULL when it was with created_at.
ALTER TABLE upload_sessions ADD COLUMN begun_at BIGINT;

-- Visitors with a bucket of their own, by the SHA-256 of what their cookie holds. A row is gone with its session.
CREATE TABLE free_sessions (
    hash       TEXT PRIMARY KEY,
    username   TEXT NOT NULL,
    csrf_token TEXT NOT NULL,
    place      TEXT NOT NULL,           -- where the bucket is, with its credentials: sealed
    address    TEXT NOT NULL,           -- that began it: an IPv4 address or an IPv6 /64
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
-- how many an address has, and all
CREATE INDEX free_sessions_address ON free_sessions (address, expires_at);
-- the sweep of what has expired
CREATE INDEX free_sessions_expiry ON free_sessions (expires_at);

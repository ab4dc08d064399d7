-- oldest: 0005: an older replica redeems the tokens of a share without looking at the share
-- Accounts that people make and mend themselves, shares, invites, announcements.

-- Links that were mailed: to verify an address, to set a new password. By the SHA-256 of the token in them.
CREATE TABLE mailed_tokens (
    hash       TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL,
    purpose    TEXT NOT NULL CHECK (purpose IN ('verify', 'reset')),
    email_fold TEXT NOT NULL,           -- the address it was mailed to
    expires_at BIGINT NOT NULL,
    used_at    BIGINT,
    created_at BIGINT NOT NULL
);
-- those of a user, which a new one voids
CREATE INDEX mailed_tokens_user ON mailed_tokens (user_id, purpose, created_at);
-- the sweep
CREATE INDEX mailed_tokens_expiry ON mailed_tokens (expires_at);

-- Codes that were mailed to change an address: a row for each that was sent. Only the newest of a user counts.
CREATE TABLE email_codes (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL,
    email      TEXT NOT NULL,
    email_fold TEXT NOT NULL,
    code_mac   TEXT NOT NULL,           -- a digest of six digits would tell them
    attempts   BIGINT NOT NULL,         -- wrong ones
    expires_at BIGINT NOT NULL,
    used_at    BIGINT,
    created_at BIGINT NOT NULL
);
-- the newest of a user, and how many were sent lately
CREATE INDEX email_codes_user ON email_codes (user_id, created_at);
-- how many an address got lately
CREATE INDEX email_codes_email ON email_codes (email_fold, created_at);

-- Wrong codes that a user tried, whatever came of them.
CREATE TABLE wrong_codes (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
-- how many lately
CREATE INDEX wrong_codes_user ON wrong_codes (user_id, created_at);

CREATE TABLE invites (
    id         TEXT PRIMARY KEY,
    code       TEXT NOT NULL,
    max_uses   BIGINT NOT NULL CHECK (max_uses > 0),
    used_count BIGINT NOT NULL CHECK (used_count >= 0 AND used_count <= max_uses),
    expires_at BIGINT,
    note       TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX invites_code_unique ON invites (code);

CREATE TABLE shares (
    id             TEXT PRIMARY KEY,    -- 12 characters
    entry_id       TEXT NOT NULL,
    creator_id     TEXT NOT NULL,
    title          TEXT,                -- null: the name of the file
    password_hash  TEXT,
    password_id    TEXT,                -- another one for another password
    proof          TEXT,                -- passwords of the file that the creator had given, which one of the share's own stands in for
    expires_at     BIGINT,
    max_views      BIGINT CHECK (max_views > 0),
    max_downloads  BIGINT CHECK (max_downloads > 0),
    view_count     BIGINT NOT NULL DEFAULT 0,
    download_count BIGINT NOT NULL DEFAULT 0,
    allow_preview  BOOLEAN NOT NULL,
    allow_download BOOLEAN NOT NULL,
    revoked_at     BIGINT,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL
);
-- the list of whoever made them
CREATE INDEX shares_creator ON shares (creator_id, created_at);
-- the list of all
CREATE INDEX shares_created ON shares (created_at);
-- those of a file that goes
CREATE INDEX shares_entry ON shares (entry_id);

CREATE TABLE announcements (
    id         TEXT PRIMARY KEY,
    title      TEXT NOT NULL,
    content    TEXT NOT NULL,
    level      TEXT NOT NULL CHECK (level IN ('info', 'warning', 'danger')),
    expires_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- Accounts that were deleted and whose files a job hands to somebody else, a piece at a time. Until its end the quota of the deleted account stays, so
-- that what is charged to whom is true at each moment.
CREATE TABLE legacies (
    user_id    TEXT PRIMARY KEY,
    heir_id    TEXT NOT NULL,
    drop_links BOOLEAN NOT NULL,        -- permanent links end with the account; else they go on
    created_at BIGINT NOT NULL
);
-- files of one owner, for that job
CREATE INDEX entries_owner ON entries (owner_id, id);

-- The share that a download token is for: it counts there, and ends with it. Last: a server that still runs waits for this table from here on, and
-- the index above takes its time.
ALTER TABLE download_tokens ADD COLUMN share_id TEXT;

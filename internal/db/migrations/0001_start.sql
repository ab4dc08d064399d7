-- oldest: 0001: there is none before it
-- One text for both engines: PostgreSQL reads TEXT as TEXT COLLATE "C" and BLOB as BYTEA.
-- Times are milliseconds since the Unix epoch, sizes are bytes.

-- Single numbers by name. `config`: every change of users, keys, mounts, rules or settings raises it, and what replicas keep in memory is
-- valid for one value of it. `seeded`: there once the first start is done. `first store`: the id of the store that it makes.
-- `key`: the fingerprint of the master key.
CREATE TABLE versions (
    name  TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO versions (name, value) VALUES ('config', 1);

-- Site settings as JSON values; the package site owns names and defaults.
CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE users (
    id              TEXT PRIMARY KEY,
    username        TEXT NOT NULL,
    username_fold   TEXT NOT NULL,
    email           TEXT NOT NULL,
    email_fold      TEXT NOT NULL,
    email_verified  BOOLEAN NOT NULL,
    password_hash   TEXT NOT NULL,
    role            TEXT NOT NULL CHECK (role IN ('admin', 'user', 'guest')),
    status          TEXT NOT NULL CHECK (status IN ('active', 'disabled', 'banned')),
    display_name    TEXT,
    avatar_url      TEXT,
    default_path    TEXT NOT NULL,
    home_id         TEXT,               -- entry, null for the first administrator
    locale          TEXT NOT NULL,
    theme           TEXT NOT NULL,
    accent_color    TEXT NOT NULL,
    enable_blur     BOOLEAN NOT NULL,
    role_version    BIGINT NOT NULL,    -- raised by a change of role: ROLE_CHANGED
    session_version BIGINT NOT NULL,    -- raised by logout, a new password, disabling: SESSION_REVOKED
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL
);
CREATE UNIQUE INDEX users_username_unique ON users (username_fold);
CREATE UNIQUE INDEX users_email_unique ON users (email_fold);

CREATE TABLE csrf_tokens (
    session_id TEXT PRIMARY KEY,        -- the jti of the session's JWT
    token      TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);
-- the sweep of what has expired
CREATE INDEX csrf_tokens_expiry ON csrf_tokens (expires_at);

-- -1 means unlimited. Reserved amounts belong to uploads under way and count as used when checking.
CREATE TABLE quotas (
    user_id          TEXT PRIMARY KEY,
    max_storage      BIGINT NOT NULL,
    max_files        BIGINT NOT NULL,
    used_storage     BIGINT NOT NULL DEFAULT 0 CHECK (used_storage >= 0),
    used_files       BIGINT NOT NULL DEFAULT 0 CHECK (used_files >= 0),
    reserved_storage BIGINT NOT NULL DEFAULT 0 CHECK (reserved_storage >= 0),
    reserved_files   BIGINT NOT NULL DEFAULT 0 CHECK (reserved_files >= 0)
);

CREATE TABLE api_keys (
    id           TEXT PRIMARY KEY,      -- pk_ and 24 characters
    user_id      TEXT NOT NULL,
    name         TEXT NOT NULL,
    token_hash   TEXT NOT NULL,         -- SHA-256 of the full token, hexadecimal
    permissions  TEXT NOT NULL,         -- comma-separated: read, write, delete
    protocols    TEXT NOT NULL,         -- comma-separated: webdav, api
    upload_path  TEXT NOT NULL,
    allowed_ips  TEXT NOT NULL,         -- comma-separated addresses and CIDRs, empty for any
    public_links TEXT NOT NULL CHECK (public_links IN ('none', 'images', 'all')),
    root_only    BOOLEAN NOT NULL,
    last_used_at BIGINT,
    expires_at   BIGINT,
    revoked_at   BIGINT,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
-- the keys of a user, newest first
CREATE INDEX api_keys_user ON api_keys (user_id, created_at);

CREATE TABLE providers (
    id                TEXT PRIMARY KEY,
    name              TEXT NOT NULL,
    type              TEXT NOT NULL CHECK (type IN ('store_a', 'store_b', 'store_c')),
    endpoint          TEXT NOT NULL,
    region            TEXT NOT NULL,
    bucket            TEXT NOT NULL,
    access_key_id     TEXT NOT NULL,    -- sealed
    secret_access_key TEXT NOT NULL,    -- sealed
    public_domain     TEXT NOT NULL,
    upload_domain     TEXT NOT NULL,
    path_prefix       TEXT NOT NULL,
    upload_mode       TEXT NOT NULL CHECK (upload_mode IN ('auto', 'presigned', 'worker')),
    redirect          BOOLEAN NOT NULL,
    marker            TEXT NOT NULL,    -- id in the marker file of a store_a root
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL
);

CREATE TABLE mounts (
    id          TEXT PRIMARY KEY,
    provider_id TEXT NOT NULL,
    root_id     TEXT NOT NULL,          -- entry
    mount_path  TEXT NOT NULL,
    name        TEXT NOT NULL,
    sort_by     TEXT NOT NULL CHECK (sort_by IN ('name', 'time', 'size', 'manual')),
    sort_order  TEXT NOT NULL CHECK (sort_order IN ('asc', 'desc')),
    priority    BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);

CREATE TABLE rules (
    id               TEXT PRIMARY KEY,
    path_pattern     TEXT NOT NULL,
    effect           TEXT NOT NULL CHECK (effect IN ('allow', 'deny')),
    mount_id         TEXT,
    role             TEXT,
    user_id          TEXT,
    api_key_id       TEXT,
    permissions      TEXT NOT NULL,     -- comma-separated, empty for all six
    require_password BOOLEAN NOT NULL,
    password_hash    TEXT,
    allowed_ips      TEXT NOT NULL,     -- comma-separated addresses and CIDRs, empty for any
    priority         BIGINT NOT NULL,
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL
);

-- The tree. An entry knows its parent and its name, nothing of its path. Roots (of mounts, and the graveyard) have no parent;
-- what does not reach the root of a mount by walking up does not exist.
CREATE TABLE entries (
    id              TEXT PRIMARY KEY,
    parent_id       TEXT,
    name            TEXT NOT NULL,
    name_fold       TEXT NOT NULL,
    kind            SMALLINT NOT NULL CHECK (kind IN (0, 1)),   -- 0 folder, 1 file
    size            BIGINT NOT NULL,
    mime_type       TEXT NOT NULL,
    owner_id        TEXT NOT NULL,
    object_id       TEXT,
    custom_title    TEXT,
    custom_color    TEXT,
    cover_url       TEXT,
    icon_emoji      TEXT,
    manual_position BIGINT,
    password_hash   TEXT,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    CHECK ((kind = 1) = (object_id IS NOT NULL))
);
-- one name once in a folder; path lookup
CREATE UNIQUE INDEX entries_name_unique ON entries (parent_id, name);
-- listings by name, folders first, and the walk down over folders
CREATE INDEX entries_listing ON entries (parent_id, kind, name_fold, name);
-- sums per owner below a folder when it is deleted
CREATE INDEX entries_sums ON entries (parent_id, kind, owner_id, size);

-- passwords below a folder that is acted on as a whole
CREATE INDEX entries_guarded ON entries (parent_id) WHERE password_hash IS NOT NULL;

-- Immutable content; copies of an entry share it. At no reference the row turns into garbage.
CREATE TABLE objects (
    id          TEXT PRIMARY KEY,
    provider_id TEXT NOT NULL,
    key         TEXT NOT NULL,
    size        BIGINT NOT NULL,
    sha256      TEXT,                   -- hexadecimal, null until the service has read the bytes itself
    etag        TEXT NOT NULL,          -- what the store calls this content
    refs        BIGINT NOT NULL CHECK (refs >= 0),
    created_at  BIGINT NOT NULL
);

-- Keys that nothing refers to, or nothing yet: the collector deletes the object once the time has come.
CREATE TABLE garbage (
    provider_id TEXT NOT NULL,
    key         TEXT NOT NULL,
    after       BIGINT NOT NULL,
    PRIMARY KEY (provider_id, key)
);
-- the collector's next piece of work
CREATE INDEX garbage_due ON garbage (after);

-- Permanent links.
CREATE TABLE links (
    id         TEXT PRIMARY KEY,        -- 22 characters
    entry_id   TEXT NOT NULL,
    ext        TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX links_entry_unique ON links (entry_id);

CREATE TABLE upload_sessions (
    id               TEXT PRIMARY KEY,
    user_id          TEXT NOT NULL,
    key_id           TEXT,              -- the API key it was made with
    mount_id         TEXT NOT NULL,     -- the session stays with the mount and the provider it began on
    provider_id      TEXT NOT NULL,
    target_path      TEXT NOT NULL,     -- the folder as asked for
    base_id          TEXT NOT NULL,     -- the deepest folder of it that existed
    missing          TEXT NOT NULL,     -- the folders below base_id to be made, joined by "/"
    file_name        TEXT NOT NULL,
    file_size        BIGINT NOT NULL,
    mime_type        TEXT NOT NULL,     -- as the client named it, may be empty
    conflict         TEXT NOT NULL CHECK (conflict IN ('rename', 'replace', 'fail')),
    idempotency_key  TEXT,
    one_shot         BOOLEAN NOT NULL,  -- an upload in one request: holds its reservation and key, no client knows it
    status           TEXT NOT NULL CHECK (status IN ('pending', 'completed', 'aborted', 'expired')),
    reserved_storage BIGINT NOT NULL,
    reserved_files   BIGINT NOT NULL,
    object_key       TEXT,              -- the bytes received, null until then
    sha256           TEXT,
    etag             TEXT,
    content_type     TEXT,              -- of the bytes received
    entry_id         TEXT,              -- the file made of it
    created_at       BIGINT NOT NULL,
    expires_at       BIGINT NOT NULL,
    completed_at     BIGINT
);
-- the sessions of a user that are open
CREATE INDEX upload_sessions_user ON upload_sessions (user_id, status);
-- the expiry sweep
CREATE INDEX upload_sessions_expiry ON upload_sessions (status, expires_at);
-- resuming by idempotency key; a key names one pending or completed session at a time
CREATE UNIQUE INDEX upload_sessions_key_unique ON upload_sessions (user_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL AND status IN ('pending', 'completed');

-- Single-use download tokens, by the SHA-256 of what the client holds.
CREATE TABLE download_tokens (
    hash        TEXT PRIMARY KEY,
    entry_id    TEXT NOT NULL,
    user_id     TEXT,                   -- on whose behalf; null for a visitor
    key_id      TEXT,
    purpose     TEXT NOT NULL CHECK (purpose IN ('download', 'preview')),
    proof       TEXT,                   -- what password was verified, null for none
    expires_at  BIGINT NOT NULL,
    consumed_at BIGINT
);
-- the sweep of what has expired
CREATE INDEX download_tokens_expiry ON download_tokens (expires_at);

CREATE TABLE jobs (
    id            TEXT PRIMARY KEY,
    type          TEXT NOT NULL,
    owner_id      TEXT NOT NULL,
    status        TEXT NOT NULL CHECK (status IN ('pending', 'running', 'completed', 'failed')),
    progress      BIGINT NOT NULL,      -- percent
    error_message TEXT,
    created_at    BIGINT NOT NULL,
    completed_at  BIGINT
);
-- the jobs of a user, newest first
CREATE INDEX jobs_owner ON jobs (owner_id, created_at);

-- What is deleted hangs below this root, which no mount has, until the collector has taken the rows away.
INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, created_at, updated_at)
VALUES ('graveyard', NULL, 'graveyard', 'graveyard', 0, 0, '', '', 0, 0);

CREATE TABLE schema_version (version BIGINT NOT NULL, oldest BIGINT NOT NULL DEFAULT 0);
INSERT INTO schema_version (version, oldest) VALUES (29, 13);
-- oldest: 0001: there is none before it
-- One text for both engines: PostgreSQL reads TEXT COLLATE "C" as TEXT COLLATE "C" COLLATE "C" and BYTEA as BYTEA.
-- Times are milliseconds since the Unix epoch, sizes are bytes.

-- Single numbers by name. `config`: every change of users, keys, mounts, rules or settings raises it, and what replicas keep in memory is
-- valid for one value of it. `seeded`: there once the first start is done. `first store`: the id of the store that it makes.
-- `key`: the fingerprint of the master key.
CREATE TABLE versions (
    name  TEXT COLLATE "C" PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO versions (name, value) VALUES ('config', 1);

-- Site settings as JSON values; the package site owns names and defaults.
CREATE TABLE settings (
    name  TEXT COLLATE "C" PRIMARY KEY,
    value TEXT COLLATE "C" NOT NULL
);

CREATE TABLE users (
    id              TEXT COLLATE "C" PRIMARY KEY,
    username        TEXT COLLATE "C" NOT NULL,
    username_fold   TEXT COLLATE "C" NOT NULL,
    email           TEXT COLLATE "C" NOT NULL,
    email_fold      TEXT COLLATE "C" NOT NULL,
    email_verified  BOOLEAN NOT NULL,
    password_hash   TEXT COLLATE "C" NOT NULL,
    role            TEXT COLLATE "C" NOT NULL CHECK (role IN ('admin', 'user', 'guest')),
    status          TEXT COLLATE "C" NOT NULL CHECK (status IN ('active', 'disabled', 'banned')),
    display_name    TEXT COLLATE "C",
    avatar_url      TEXT COLLATE "C",
    default_path    TEXT COLLATE "C" NOT NULL,
    home_id         TEXT COLLATE "C",               -- entry, null for the first administrator
    locale          TEXT COLLATE "C" NOT NULL,
    theme           TEXT COLLATE "C" NOT NULL,
    accent_color    TEXT COLLATE "C" NOT NULL,
    enable_blur     BOOLEAN NOT NULL,
    role_version    BIGINT NOT NULL,    -- raised by a change of role: ROLE_CHANGED
    session_version BIGINT NOT NULL,    -- raised by logout, a new password, disabling: SESSION_REVOKED
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL
);
CREATE UNIQUE INDEX users_username_unique ON users (username_fold);
CREATE UNIQUE INDEX users_email_unique ON users (email_fold);

CREATE TABLE csrf_tokens (
    session_id TEXT COLLATE "C" PRIMARY KEY,        -- the jti of the session's JWT
    token      TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL
);
-- the sweep of what has expired
CREATE INDEX csrf_tokens_expiry ON csrf_tokens (expires_at);

-- -1 means unlimited. Reserved amounts belong to uploads under way and count as used when checking.
CREATE TABLE quotas (
    user_id          TEXT COLLATE "C" PRIMARY KEY,
    max_storage      BIGINT NOT NULL,
    max_files        BIGINT NOT NULL,
    used_storage     BIGINT NOT NULL DEFAULT 0 CHECK (used_storage >= 0),
    used_files       BIGINT NOT NULL DEFAULT 0 CHECK (used_files >= 0),
    reserved_storage BIGINT NOT NULL DEFAULT 0 CHECK (reserved_storage >= 0),
    reserved_files   BIGINT NOT NULL DEFAULT 0 CHECK (reserved_files >= 0)
);

CREATE TABLE api_keys (
    id           TEXT COLLATE "C" PRIMARY KEY,      -- pk_ and 24 characters
    user_id      TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    token_hash   TEXT COLLATE "C" NOT NULL,         -- SHA-256 of the full token, hexadecimal
    permissions  TEXT COLLATE "C" NOT NULL,         -- comma-separated: read, write, delete
    protocols    TEXT COLLATE "C" NOT NULL,         -- comma-separated: webdav, api
    upload_path  TEXT COLLATE "C" NOT NULL,
    allowed_ips  TEXT COLLATE "C" NOT NULL,         -- comma-separated addresses and CIDRs, empty for any
    public_links TEXT COLLATE "C" NOT NULL CHECK (public_links IN ('none', 'images', 'all')),
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
    id                TEXT COLLATE "C" PRIMARY KEY,
    name              TEXT COLLATE "C" NOT NULL,
    type              TEXT COLLATE "C" NOT NULL CHECK (type IN ('store_a', 'store_b', 'store_c')),
    endpoint          TEXT COLLATE "C" NOT NULL,
    region            TEXT COLLATE "C" NOT NULL,
    bucket            TEXT COLLATE "C" NOT NULL,
    access_key_id     TEXT COLLATE "C" NOT NULL,    -- sealed
    secret_access_key TEXT COLLATE "C" NOT NULL,    -- sealed
    public_domain     TEXT COLLATE "C" NOT NULL,
    upload_domain     TEXT COLLATE "C" NOT NULL,
    path_prefix       TEXT COLLATE "C" NOT NULL,
    upload_mode       TEXT COLLATE "C" NOT NULL CHECK (upload_mode IN ('auto', 'presigned', 'worker')),
    redirect          BOOLEAN NOT NULL,
    marker            TEXT COLLATE "C" NOT NULL,    -- id in the marker file of a store_a root
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL
);

CREATE TABLE mounts (
    id          TEXT COLLATE "C" PRIMARY KEY,
    provider_id TEXT COLLATE "C" NOT NULL,
    root_id     TEXT COLLATE "C" NOT NULL,          -- entry
    mount_path  TEXT COLLATE "C" NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    sort_by     TEXT COLLATE "C" NOT NULL CHECK (sort_by IN ('name', 'time', 'size', 'manual')),
    sort_order  TEXT COLLATE "C" NOT NULL CHECK (sort_order IN ('asc', 'desc')),
    priority    BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);

CREATE TABLE rules (
    id               TEXT COLLATE "C" PRIMARY KEY,
    path_pattern     TEXT COLLATE "C" NOT NULL,
    effect           TEXT COLLATE "C" NOT NULL CHECK (effect IN ('allow', 'deny')),
    mount_id         TEXT COLLATE "C",
    role             TEXT COLLATE "C",
    user_id          TEXT COLLATE "C",
    api_key_id       TEXT COLLATE "C",
    permissions      TEXT COLLATE "C" NOT NULL,     -- comma-separated, empty for all six
    require_password BOOLEAN NOT NULL,
    password_hash    TEXT COLLATE "C",
    allowed_ips      TEXT COLLATE "C" NOT NULL,     -- comma-separated addresses and CIDRs, empty for any
    priority         BIGINT NOT NULL,
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL
);

-- The tree. An entry knows its parent and its name, nothing of its path. Roots (of mounts, and the graveyard) have no parent;
-- what does not reach the root of a mount by walking up does not exist.
CREATE TABLE entries (
    id              TEXT COLLATE "C" PRIMARY KEY,
    parent_id       TEXT COLLATE "C",
    name            TEXT COLLATE "C" NOT NULL,
    name_fold       TEXT COLLATE "C" NOT NULL,
    kind            SMALLINT NOT NULL CHECK (kind IN (0, 1)),   -- 0 folder, 1 file
    size            BIGINT NOT NULL,
    mime_type       TEXT COLLATE "C" NOT NULL,
    owner_id        TEXT COLLATE "C" NOT NULL,
    object_id       TEXT COLLATE "C",
    custom_title    TEXT COLLATE "C",
    custom_color    TEXT COLLATE "C",
    cover_url       TEXT COLLATE "C",
    icon_emoji      TEXT COLLATE "C",
    manual_position BIGINT,
    password_hash   TEXT COLLATE "C",
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
    id          TEXT COLLATE "C" PRIMARY KEY,
    provider_id TEXT COLLATE "C" NOT NULL,
    key         TEXT COLLATE "C" NOT NULL,
    size        BIGINT NOT NULL,
    sha256      TEXT COLLATE "C",                   -- hexadecimal, null until the service has read the bytes itself
    etag        TEXT COLLATE "C" NOT NULL,          -- what the store calls this content
    refs        BIGINT NOT NULL CHECK (refs >= 0),
    created_at  BIGINT NOT NULL
);

-- Keys that nothing refers to, or nothing yet: the collector deletes the object once the time has come.
CREATE TABLE garbage (
    provider_id TEXT COLLATE "C" NOT NULL,
    key         TEXT COLLATE "C" NOT NULL,
    after       BIGINT NOT NULL,
    PRIMARY KEY (provider_id, key)
);
-- the collector's next piece of work
CREATE INDEX garbage_due ON garbage (after);

-- Permanent links.
CREATE TABLE links (
    id         TEXT COLLATE "C" PRIMARY KEY,        -- 22 characters
    entry_id   TEXT COLLATE "C" NOT NULL,
    ext        TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX links_entry_unique ON links (entry_id);

CREATE TABLE upload_sessions (
    id               TEXT COLLATE "C" PRIMARY KEY,
    user_id          TEXT COLLATE "C" NOT NULL,
    key_id           TEXT COLLATE "C",              -- the API key it was made with
    mount_id         TEXT COLLATE "C" NOT NULL,     -- the session stays with the mount and the provider it began on
    provider_id      TEXT COLLATE "C" NOT NULL,
    target_path      TEXT COLLATE "C" NOT NULL,     -- the folder as asked for
    base_id          TEXT COLLATE "C" NOT NULL,     -- the deepest folder of it that existed
    missing          TEXT COLLATE "C" NOT NULL,     -- the folders below base_id to be made, joined by "/"
    file_name        TEXT COLLATE "C" NOT NULL,
    file_size        BIGINT NOT NULL,
    mime_type        TEXT COLLATE "C" NOT NULL,     -- as the client named it, may be empty
    conflict         TEXT COLLATE "C" NOT NULL CHECK (conflict IN ('rename', 'replace', 'fail')),
    idempotency_key  TEXT COLLATE "C",
    one_shot         BOOLEAN NOT NULL,  -- an upload in one request: holds its reservation and key, no client knows it
    status           TEXT COLLATE "C" NOT NULL CHECK (status IN ('pending', 'completed', 'aborted', 'expired')),
    reserved_storage BIGINT NOT NULL,
    reserved_files   BIGINT NOT NULL,
    object_key       TEXT COLLATE "C",              -- the bytes received, null until then
    sha256           TEXT COLLATE "C",
    etag             TEXT COLLATE "C",
    content_type     TEXT COLLATE "C",              -- of the bytes received
    entry_id         TEXT COLLATE "C",              -- the file made of it
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
    hash        TEXT COLLATE "C" PRIMARY KEY,
    entry_id    TEXT COLLATE "C" NOT NULL,
    user_id     TEXT COLLATE "C",                   -- on whose behalf; null for a visitor
    key_id      TEXT COLLATE "C",
    purpose     TEXT COLLATE "C" NOT NULL CHECK (purpose IN ('download', 'preview')),
    proof       TEXT COLLATE "C",                   -- what password was verified, null for none
    expires_at  BIGINT NOT NULL,
    consumed_at BIGINT
);
-- the sweep of what has expired
CREATE INDEX download_tokens_expiry ON download_tokens (expires_at);

CREATE TABLE jobs (
    id            TEXT COLLATE "C" PRIMARY KEY,
    type          TEXT COLLATE "C" NOT NULL,
    owner_id      TEXT COLLATE "C" NOT NULL,
    status        TEXT COLLATE "C" NOT NULL CHECK (status IN ('pending', 'running', 'completed', 'failed')),
    progress      BIGINT NOT NULL,      -- percent
    error_message TEXT COLLATE "C",
    created_at    BIGINT NOT NULL,
    completed_at  BIGINT
);
-- the jobs of a user, newest first
CREATE INDEX jobs_owner ON jobs (owner_id, created_at);

-- What is deleted hangs below this root, which no mount has, until the collector has taken the rows away.
INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, created_at, updated_at)
VALUES ('graveyard', NULL, 'graveyard', 'graveyard', 0, 0, '', '', 0, 0);

-- oldest: 0002: an older replica takes a session in parts for one whose bytes are all there
-- Uploads in parts, background jobs that are leased, and what looks objects up by their key.

-- What the store calls an upload in parts; null for a session whose bytes come in one piece. object_key is then the key that the object will have.
ALTER TABLE upload_sessions ADD COLUMN upload_id TEXT COLLATE "C";
ALTER TABLE upload_sessions ADD COLUMN total_parts BIGINT;
-- Of an expired session whose parts are kept for whoever comes back with its idempotency key: until when.
ALTER TABLE upload_sessions ADD COLUMN kept_until BIGINT;
-- adopting kept parts by their key, and the sweep of those that nobody came back for
CREATE UNIQUE INDEX upload_sessions_kept_unique ON upload_sessions (user_id, idempotency_key) WHERE kept_until IS NOT NULL;
CREATE INDEX upload_sessions_kept ON upload_sessions (kept_until) WHERE kept_until IS NOT NULL;

-- The parts that may lie in the store for this key: the collector has the store drop them as well. Null for none.
ALTER TABLE garbage ADD COLUMN upload_id TEXT COLLATE "C";

-- A key belongs to one object; the sweep of what nothing refers to asks by it.
CREATE UNIQUE INDEX objects_key_unique ON objects (provider_id, key);

-- What a job works on (the package that runs the type reads it), how far it is in bytes, and who has it until when: `due` is when a pending
-- job may begin and when the lease of a running one ends.
ALTER TABLE jobs ADD COLUMN payload TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN total_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN done_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN due BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN holder TEXT COLLATE "C";
-- the next job to run
CREATE INDEX jobs_due ON jobs (due) WHERE status IN ('pending', 'running');

-- Listings in any order and searches by name, of a folder's files or folders, whoever's they are: read from the index alone, but for the rows of
-- one page. And the walk down over folders.
DROP INDEX entries_listing;
CREATE INDEX entries_listing ON entries (parent_id, kind, name_fold, name, owner_id, updated_at, size, manual_position);

-- oldest: 0003: an older replica sets passwords without a new password_id, and takes a signed link for a token that is used once
-- Passwords of entries that can be unlocked, and download tokens of more kinds.

-- Drawn anew with each password of an entry: what a proof that the password was given names, so that a new password ends what the old one opened.
-- Null for a password of before; the entry's id takes its place.
ALTER TABLE entries ADD COLUMN password_id TEXT COLLATE "C";

-- Which content it is. An object that was copied elsewhere for one of the files that share it is the same content: it names the one that it was
-- copied from, so that ETags and what is bound to the content last. Null for the object's own id.
ALTER TABLE objects ADD COLUMN content_id TEXT COLLATE "C";

-- What a token is for: `download` saves once; `preview` shows, any number of times; `signed` is a link for as long as was asked for, any number
-- of times, to the content that the file had then.
CREATE TABLE tokens (
    hash        TEXT COLLATE "C" PRIMARY KEY,       -- SHA-256 of what the client holds
    entry_id    TEXT COLLATE "C" NOT NULL,
    user_id     TEXT COLLATE "C",                   -- on whose behalf; null for a visitor
    key_id      TEXT COLLATE "C",
    purpose     TEXT COLLATE "C" NOT NULL CHECK (purpose IN ('download', 'preview', 'signed')),
    object_id   TEXT COLLATE "C",                   -- signed: the content, as objects.content_id has it; null else
    proof       TEXT COLLATE "C",                   -- what passwords were given, null for none
    expires_at  BIGINT NOT NULL,
    consumed_at BIGINT
);
INSERT INTO tokens (hash, entry_id, user_id, key_id, purpose, proof, expires_at, consumed_at)
SELECT hash, entry_id, user_id, key_id, purpose, proof, expires_at, consumed_at FROM download_tokens;
DROP TABLE download_tokens;
ALTER TABLE tokens RENAME TO download_tokens;
-- the sweep of what has expired
CREATE INDEX download_tokens_expiry ON download_tokens (expires_at);
-- how many signed links of an account are valid
CREATE INDEX download_tokens_signed ON download_tokens (user_id, expires_at) WHERE purpose = 'signed';

-- The root of what is being copied: nothing below it exists for anybody, and nothing of it is charged, until the copy is complete and gets its place.
INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, created_at, updated_at)
VALUES ('staging', NULL, 'staging', 'staging', 0, 0, '', '', 0, 0);

-- A copy that a job is making below it: whose quota is reserved for it, and what has been made so far.
CREATE TABLE copies (
    job_id           TEXT COLLATE "C" PRIMARY KEY,
    entry_id         TEXT COLLATE "C" NOT NULL,     -- directly below staging
    user_id          TEXT COLLATE "C" NOT NULL,
    reserved_storage BIGINT NOT NULL,
    reserved_files   BIGINT NOT NULL,
    made_storage     BIGINT NOT NULL,
    made_files       BIGINT NOT NULL
);

-- oldest: 0004: an older replica completes a session of mode presigned with the staging key as its object
-- Stores that clients reach themselves, and free mode.

-- How the bytes come: through the service, or by pre-signed addresses straight to the store. Of a single session whose bytes do, object_key is where
-- they wait until they are copied to where nobody can write, unless sha256 is there: then others have come through the service, and lie at object_key.
ALTER TABLE upload_sessions ADD COLUMN upload_mode TEXT COLLATE "C" NOT NULL DEFAULT 'worker' CHECK (upload_mode IN ('worker', 'presigned'));

-- When the store was told of the parts, which a session may have taken over from one that has expired; NULL when it was with created_at.
ALTER TABLE upload_sessions ADD COLUMN begun_at BIGINT;

-- Visitors with a bucket of their own, by the SHA-256 of what their cookie holds. A row is gone with its session.
CREATE TABLE free_sessions (
    hash       TEXT COLLATE "C" PRIMARY KEY,
    username   TEXT COLLATE "C" NOT NULL,
    csrf_token TEXT COLLATE "C" NOT NULL,
    place      TEXT COLLATE "C" NOT NULL,           -- where the bucket is, with its credentials: sealed
    address    TEXT COLLATE "C" NOT NULL,           -- that began it: an IPv4 address or an IPv6 /64
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
-- how many an address has, and all
CREATE INDEX free_sessions_address ON free_sessions (address, expires_at);
-- the sweep of what has expired
CREATE INDEX free_sessions_expiry ON free_sessions (expires_at);

-- oldest: 0005: an older replica redeems the tokens of a share without looking at the share
-- Accounts that people make and mend themselves, shares, invites, announcements.

-- Links that were mailed: to verify an address, to set a new password. By the SHA-256 of the token in them.
CREATE TABLE mailed_tokens (
    hash       TEXT COLLATE "C" PRIMARY KEY,
    user_id    TEXT COLLATE "C" NOT NULL,
    purpose    TEXT COLLATE "C" NOT NULL CHECK (purpose IN ('verify', 'reset')),
    email_fold TEXT COLLATE "C" NOT NULL,           -- the address it was mailed to
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
    id         TEXT COLLATE "C" PRIMARY KEY,
    user_id    TEXT COLLATE "C" NOT NULL,
    email      TEXT COLLATE "C" NOT NULL,
    email_fold TEXT COLLATE "C" NOT NULL,
    code_mac   TEXT COLLATE "C" NOT NULL,           -- a digest of six digits would tell them
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
    id         TEXT COLLATE "C" PRIMARY KEY,
    user_id    TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);
-- how many lately
CREATE INDEX wrong_codes_user ON wrong_codes (user_id, created_at);

CREATE TABLE invites (
    id         TEXT COLLATE "C" PRIMARY KEY,
    code       TEXT COLLATE "C" NOT NULL,
    max_uses   BIGINT NOT NULL CHECK (max_uses > 0),
    used_count BIGINT NOT NULL CHECK (used_count >= 0 AND used_count <= max_uses),
    expires_at BIGINT,
    note       TEXT COLLATE "C" NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX invites_code_unique ON invites (code);

CREATE TABLE shares (
    id             TEXT COLLATE "C" PRIMARY KEY,    -- 12 characters
    entry_id       TEXT COLLATE "C" NOT NULL,
    creator_id     TEXT COLLATE "C" NOT NULL,
    title          TEXT COLLATE "C",                -- null: the name of the file
    password_hash  TEXT COLLATE "C",
    password_id    TEXT COLLATE "C",                -- another one for another password
    proof          TEXT COLLATE "C",                -- passwords of the file that the creator had given, which one of the share's own stands in for
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
    id         TEXT COLLATE "C" PRIMARY KEY,
    title      TEXT COLLATE "C" NOT NULL,
    content    TEXT COLLATE "C" NOT NULL,
    level      TEXT COLLATE "C" NOT NULL CHECK (level IN ('info', 'warning', 'danger')),
    expires_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- Accounts that were deleted and whose files a job hands to somebody else, a piece at a time. Until its end the quota of the deleted account stays, so
-- that what is charged to whom is true at each moment.
CREATE TABLE legacies (
    user_id    TEXT COLLATE "C" PRIMARY KEY,
    heir_id    TEXT COLLATE "C" NOT NULL,
    drop_links BOOLEAN NOT NULL,        -- permanent links end with the account; else they go on
    created_at BIGINT NOT NULL
);
-- files of one owner, for that job
CREATE INDEX entries_owner ON entries (owner_id, id);

-- The share that a download token is for: it counts there, and ends with it. Last: a server that still runs waits for this table from here on, and
-- the index above takes its time.
ALTER TABLE download_tokens ADD COLUMN share_id TEXT COLLATE "C";

-- oldest: 0006: an older replica changes what a WebDAV client has locked
-- What WebDAV clients leave on files and folders: locks for a while, properties for good.

-- Locks that have expired are none; the sweep takes them away.
CREATE TABLE locks (
    token      TEXT COLLATE "C" PRIMARY KEY,        -- the UUID of `urn:uuid:…`
    entry_id   TEXT COLLATE "C" NOT NULL,
    deep       BOOLEAN NOT NULL,        -- covers all that is below as well
    exclusive  BOOLEAN NOT NULL,
    key_id     TEXT COLLATE "C" NOT NULL,           -- the API key that made it; nobody else's requests may use it
    owner      TEXT COLLATE "C" NOT NULL,           -- XML that the client sent, for people to read
    expires_at BIGINT NOT NULL
);
-- asked by every change of an entry
CREATE INDEX locks_entry ON locks (entry_id);
-- how many a key has, and all of them when it ends
CREATE INDEX locks_key ON locks (key_id);
-- the sweep
CREATE INDEX locks_expiry ON locks (expires_at);

-- Content that goes on under another object since it was carried to another provider. Few has been; listings ask whether any has.
CREATE INDEX objects_continued ON objects (id) WHERE content_id IS NOT NULL;

-- Dead properties (RFC 4918, section 4): what clients keep with an entry, without any meaning to the service.
CREATE TABLE properties (
    entry_id  TEXT COLLATE "C" NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,            -- '' for none
    name      TEXT COLLATE "C" NOT NULL,
    lang      TEXT COLLATE "C" NOT NULL,            -- xml:lang, '' for none
    value     TEXT COLLATE "C" NOT NULL,            -- XML
    PRIMARY KEY (entry_id, namespace, name)
);

-- oldest: 0007: an older replica acknowledges parts without a row, which then count as missing
-- What the service has acknowledged of uploads in parts.

-- Whether a part of the session counts only as upload_parts has it. Not so where parts may go straight to the store, and of sessions that were begun
-- before there was that table: there what the store lists counts, and upload_parts has nothing of them.
ALTER TABLE upload_sessions ADD COLUMN parts_recorded BOOLEAN NOT NULL DEFAULT FALSE;

-- What was acknowledged of each part last, or of several bodies that came at once, since the store alone knows which of those came last. The rows go with
-- that of their session.
CREATE TABLE upload_parts (
    session_id TEXT COLLATE "C" NOT NULL,
    number     BIGINT NOT NULL,
    etag       TEXT COLLATE "C" NOT NULL,           -- without quotes
    PRIMARY KEY (session_id, number, etag)
);

-- oldest: 0007: an older replica counts wrong passwords in its own memory, as before
-- Wrong passwords by target, for replicas on PostgreSQL without Redis (package kv/postgres). On SQLite
-- the table stays empty: there the one process counts in memory.

-- A row is a bucket of a rate limit. From full_at on it means nothing, and the sweep deletes it. A
-- wrong answer keeps a row for a minute, so that there are few.
CREATE TABLE guesses (
    target  TEXT COLLATE "C" PRIMARY KEY,           -- such as `password:<id>`; 71 bytes at most
    full_at BIGINT NOT NULL             -- µs since 1970
);

-- oldest: 0009: an older replica takes parts for lost while another one completes them
-- The lease of the completion of a session in parts that asks the store at this moment, and until when (ms) it holds unless it is renewed. A time without
-- a lease is when a completion last asked the store and got no clear answer: the store may go on for some minutes.
ALTER TABLE upload_sessions ADD COLUMN completing_by TEXT COLLATE "C";
ALTER TABLE upload_sessions ADD COLUMN completing_until BIGINT;

-- oldest: 0010: an older replica charges a file that is replaced without the bytes in freed
-- Quotas that count folders, and what an account has on the disk.

-- Folders that a user has, and those that copies under way have reserved. At most max(1,000, 2 × max_files), none counted where max_files is -1.
ALTER TABLE quotas ADD COLUMN used_folders BIGINT NOT NULL DEFAULT 0 CHECK (used_folders >= 0);
ALTER TABLE quotas ADD COLUMN reserved_folders BIGINT NOT NULL DEFAULT 0 CHECK (reserved_folders >= 0);
ALTER TABLE copies ADD COLUMN reserved_folders BIGINT NOT NULL DEFAULT 0;
WITH RECURSIVE apart (id) AS (
    SELECT id FROM entries WHERE id IN ('graveyard', 'staging')
    UNION ALL
    SELECT e.id FROM apart a JOIN entries e ON e.parent_id = a.id AND e.kind = 0
)
UPDATE quotas
SET used_folders = c.folders
FROM (
    SELECT owner_id, COUNT(*) AS folders
    FROM entries
    WHERE kind = 0 AND id NOT IN (SELECT id FROM apart)
    GROUP BY owner_id
) c
WHERE c.owner_id = quotas.user_id;

-- Whose file the content was that waits for the collector, null for none (keys of uploads under way), and its bytes.
ALTER TABLE garbage ADD COLUMN owner_id TEXT COLLATE "C";
ALTER TABLE garbage ADD COLUMN size BIGINT NOT NULL DEFAULT 0;
-- how much an account has, the oldest first
CREATE INDEX garbage_owner ON garbage (owner_id, after, size) WHERE owner_id IS NOT NULL;

-- The file that a session is to replace and whose bytes are not reserved once more, null for none, and how many bytes those are.
ALTER TABLE upload_sessions ADD COLUMN replaces_id TEXT COLLATE "C";
ALTER TABLE upload_sessions ADD COLUMN freed BIGINT NOT NULL DEFAULT 0;
-- the bytes of a file are left out of one reservation at a time
CREATE UNIQUE INDEX upload_sessions_replaces_unique ON upload_sessions (replaces_id)
    WHERE replaces_id IS NOT NULL AND (status = 'pending' OR kept_until IS NOT NULL);

-- oldest: 0011: an older replica forgets keys to which a client may still bring an object
-- Objects that a client may still bring to a key after the collector has deleted it.

-- From when on (ms) the object of this key can come to its end only by a request that was begun before: when the address that clients send bytes to expires.
-- NULL for a key that no client writes to. The collector looks for such an object again for a while after it has deleted it once.
ALTER TABLE garbage ADD COLUMN late_from BIGINT;
-- Whether the object has been deleted once, and the row only stands for what may come late.
ALTER TABLE garbage ADD COLUMN collected BOOLEAN NOT NULL DEFAULT FALSE;

-- oldest: 0012: an older replica redeems tokens of sessions that have ended
-- The end of download tokens with their session, their number by owner, and jobs by how they ended.

-- The versions of the session that made a token of purpose `download` or `preview`, which ends with it: users.session_version and
-- users.role_version as the session had them. Null for a visitor, a key, a signed link, and for tokens of an older Larder, which end by their time alone.
ALTER TABLE download_tokens ADD COLUMN session_version BIGINT;
ALTER TABLE download_tokens ADD COLUMN role_version BIGINT;

-- the sweep of jobs that ended a month ago, and how many jobs there are of each status
CREATE INDEX jobs_status ON jobs (status, completed_at);

-- the newest tokens of an account, of a share, and of a visitor for one entry, which are bounded
CREATE INDEX download_tokens_account ON download_tokens (user_id, expires_at) WHERE purpose <> 'signed' AND user_id IS NOT NULL;
CREATE INDEX download_tokens_share ON download_tokens (share_id, expires_at) WHERE share_id IS NOT NULL;
CREATE INDEX download_tokens_entry ON download_tokens (entry_id, expires_at) WHERE user_id IS NULL AND share_id IS NULL;

-- oldest: 0012: only tables are added
-- The processes that run, so that a migration can check which schemas they know, and the progress
-- of steps.

-- Every process that serves has a row, from its start to its orderly stop. One that was killed
-- leaves it: it counts as running for 5 minutes after `seen`. The schemas are the newest that the
-- process knows, of the metadata and of the access log.
CREATE TABLE replicas (
    id           TEXT COLLATE "C" PRIMARY KEY,      -- its host and a few random digits
    version      TEXT COLLATE "C" NOT NULL,         -- of the program
    schema       BIGINT NOT NULL,
    audit_schema BIGINT NOT NULL,
    seen         BIGINT NOT NULL        -- ms since 1970, by the clock of the database
);

-- Backfills and index builds that go on after the migration that they belong to
-- (internal/db/steps.go). A step that has not begun has no row.
CREATE TABLE schema_steps (
    name         TEXT COLLATE "C" PRIMARY KEY,
    position     TEXT COLLATE "C" NOT NULL,         -- where a backfill goes on; the step's own form, '' for its beginning
    holder       TEXT COLLATE "C",                  -- the replica that works on it, null for none
    held_until   BIGINT NOT NULL,       -- ms; from then on another replica may go on
    completed_at BIGINT                 -- ms; null until then. An index is complete when it is there and valid, whatever stands here
);

-- oldest: 0013: a column with a default is added; the step that fills it in waits for older replicas
-- The order of names in listings.

-- The key by which names are sorted (vpath.SortKey), before the names themselves. '' until a step
-- has computed it (internal/db/sort_keys.go); listings sort by name_fold until then.
ALTER TABLE entries ADD COLUMN sort_key TEXT COLLATE "C" NOT NULL DEFAULT '';

-- oldest: 0013: a table and columns that may be null are added; Tx.RequireSchema keeps older
-- replicas away as soon as a single session is ended
-- The sessions of each account, so that a user can see them and end one.

-- A row per sign-in. A token that an older replica issued has none; its next use adds it. An ended
-- session keeps its row until its token expires, so that no use adds it again. A session also ends
-- when one of the two versions of its user changes; then its row is deleted.
CREATE TABLE sessions (
    id              TEXT COLLATE "C" PRIMARY KEY,   -- the token's `jti`
    user_id         TEXT COLLATE "C" NOT NULL,
    session_version BIGINT NOT NULL,    -- of the user, at the sign-in
    role_version    BIGINT NOT NULL,
    agent           TEXT COLLATE "C" NOT NULL,      -- User-Agent of the sign-in, at most 300 bytes
    ip              TEXT COLLATE "C" NOT NULL,      -- address of the sign-in
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
ALTER TABLE download_tokens ADD COLUMN session_id TEXT COLLATE "C";

-- oldest: 0013: only a table is added. An older replica that deletes an account leaves its picture
-- behind; nothing shows it, since a picture is read together with its account
-- The pictures of accounts.

-- The picture that a user has uploaded, made small. Another picture has another id, so that
-- addresses may be cached for ever.
CREATE TABLE avatars (
    id         TEXT COLLATE "C" PRIMARY KEY,        -- random: it is the permission to see the picture
    user_id    TEXT COLLATE "C" NOT NULL,
    media_type TEXT COLLATE "C" NOT NULL,           -- image/webp, image/jpeg or image/png
    content    BYTEA NOT NULL,
    created_at BIGINT NOT NULL          -- ms
);
-- the picture of an account; an account has one
CREATE UNIQUE INDEX avatars_user ON avatars (user_id);

-- oldest: 0013: a column that may be null is added; an older replica does not fill it
-- When an account was last used, beyond the end of its sessions.

-- The last use of the sessions of the user whose rows are deleted, ms; null for none.
ALTER TABLE users ADD COLUMN last_seen_at BIGINT;

-- oldest: 0013: a table and columns that may be null are added. An older replica writes no
-- notifications; those of an account that it deletes stay until they are 90 days old, and no account
-- reads them
-- The notifications of accounts.

-- An event that an account is told of. Its subject names the event, so that it is written once,
-- however many replicas and sweeps see it. An account has at most 500; they stay for 90 days.
CREATE TABLE notifications (
    id         TEXT COLLATE "C" PRIMARY KEY,
    user_id    TEXT COLLATE "C" NOT NULL,
    subject    TEXT COLLATE "C" NOT NULL,           -- job:<id>, share:<id>:<end>, quota:<time>, upload:<id>
    kind       TEXT COLLATE "C" NOT NULL,           -- job, share, quota or upload
    params     TEXT COLLATE "C" NOT NULL,           -- JSON: notice.Params
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

-- oldest: 0013: a column that may be null is added. An older replica sends the whole shared folder
-- for a token of some files in it
-- Downloads of some files of a share.

-- The ids of the files in the shared folder entry_id that are sent as one archive, with commas; null
-- for the entry itself.
ALTER TABLE download_tokens ADD COLUMN selected TEXT COLLATE "C";

-- oldest: 0013: a root entry, tables and columns with defaults are added. Nothing goes to the trash
-- while a replica runs that knows no trash (files.Tree.checkTrash)
-- The trash.

-- Entries in the trash are directly below this root, which no mount has; each has its id as name.
INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, created_at, updated_at, sort_key)
VALUES ('trash', NULL, 'trash', 'trash', 0, 0, '', '', 0, 0, 'trash');

-- An entry in the trash, and the place that it came from.
CREATE TABLE trash (
    entry_id       TEXT COLLATE "C" PRIMARY KEY,    -- directly below the root trash
    owner_id       TEXT COLLATE "C" NOT NULL,       -- the owner of the entry
    deleted_by     TEXT COLLATE "C" NOT NULL,       -- an account
    deleted_by_key TEXT COLLATE "C",                -- its API key; null for none
    deleted_at     BIGINT NOT NULL,     -- ms
    reason         TEXT COLLATE "C" NOT NULL CHECK (reason IN ('deleted', 'replaced', 'rewind')),
    name           TEXT COLLATE "C" NOT NULL,
    name_fold      TEXT COLLATE "C" NOT NULL,       -- for the search
    parent_id      TEXT COLLATE "C" NOT NULL,       -- the folder that it was in
    parents        TEXT COLLATE "C" NOT NULL,       -- JSON: files.formerFolder, from the root of the mount down to parent_id
    mount_id       TEXT COLLATE "C" NOT NULL,
    provider_id    TEXT COLLATE "C" NOT NULL,       -- of that mount at that time
    path           TEXT COLLATE "C" NOT NULL,       -- at that time
    files          BIGINT NOT NULL,     -- in the entry, itself included
    folders        BIGINT NOT NULL,
    size           BIGINT NOT NULL      -- bytes of the files
);
-- the trash of an owner and the deletions of an account, newest first
CREATE INDEX trash_owner ON trash (owner_id, deleted_at, entry_id);
CREATE INDEX trash_deleted_by ON trash (deleted_by, deleted_at, entry_id);
-- the end of their time
CREATE INDEX trash_age ON trash (deleted_at, entry_id);

-- The bytes of each account in an entry of the trash.
CREATE TABLE trash_sizes (
    entry_id   TEXT COLLATE "C" NOT NULL,
    owner_id   TEXT COLLATE "C" NOT NULL,
    deleted_at BIGINT NOT NULL,         -- of the entry
    size       BIGINT NOT NULL,
    PRIMARY KEY (entry_id, owner_id)
);
-- the oldest entries with bytes of an account
CREATE INDEX trash_sizes_owner ON trash_sizes (owner_id, deleted_at, entry_id);

-- The bytes of an account that only the trash keeps, and their bound; null for the default.
ALTER TABLE quotas ADD COLUMN kept_storage BIGINT NOT NULL DEFAULT 0 CHECK (kept_storage >= 0);
ALTER TABLE quotas ADD COLUMN max_kept BIGINT;

-- oldest: 0013: a table and a column that may be null are added. No version is made while a replica
-- runs that knows none (files.Tree.keepVersion)
-- Versions of files.

-- The content that a file had. Each row holds one reference to its object.
CREATE TABLE past (
    entry_id  TEXT COLLATE "C" NOT NULL,            -- the file
    since     BIGINT NOT NULL,          -- ms: it had this content from then
    until     BIGINT NOT NULL,          -- ms: to then; with entry_id the id of the version
    parent_id TEXT COLLATE "C" NOT NULL,            -- the folder at the end of that time
    name      TEXT COLLATE "C" NOT NULL,            -- as above
    size      BIGINT NOT NULL,
    mime_type TEXT COLLATE "C" NOT NULL,
    owner_id  TEXT COLLATE "C" NOT NULL,            -- the account that its bytes are counted for
    object_id TEXT COLLATE "C" NOT NULL,
    op        TEXT COLLATE "C" NOT NULL CHECK (op IN ('replace')),  -- the end of that time
    by_user   TEXT COLLATE "C",                     -- the account that did it; null for a visitor
    by_key    TEXT COLLATE "C",                     -- its API key; null for none
    PRIMARY KEY (entry_id, until)
);
-- the end of the retention
CREATE INDEX past_age ON past (until);
-- the oldest versions of an account
CREATE INDEX past_owner ON past (owner_id, until);
-- the references to an object
CREATE INDEX past_object ON past (object_id);

-- A token for a version of a file: past.until; null for the present content.
ALTER TABLE download_tokens ADD COLUMN version BIGINT;

-- oldest: 0013: tables, and columns with defaults, are added. No place is recorded while a replica
-- runs that records none (files.recordPlace)
-- The places that entries had, for a folder as it was at an earlier time.

-- ms: the entry has its parent and name, or its content, from then; 0: from created_at
ALTER TABLE entries ADD COLUMN place_since BIGINT NOT NULL DEFAULT 0;
ALTER TABLE entries ADD COLUMN content_since BIGINT NOT NULL DEFAULT 0;

-- A place that an entry had.
CREATE TABLE former_places (
    entry_id  TEXT COLLATE "C" NOT NULL,
    since     BIGINT NOT NULL,          -- ms: it was there from then
    until     BIGINT NOT NULL,          -- ms: to then, exclusive
    parent_id TEXT COLLATE "C" NOT NULL,            -- the folder; the root trash while the entry was in the trash
    name      TEXT COLLATE "C" NOT NULL,
    name_fold TEXT COLLATE "C" NOT NULL,
    sort_key  TEXT COLLATE "C" NOT NULL,
    kind      INTEGER NOT NULL,         -- of the entry
    PRIMARY KEY (entry_id, until)
);
-- a folder as it was
CREATE INDEX former_places_parent ON former_places (parent_id, until);
-- the end of the retention
CREATE INDEX former_places_age ON former_places (until);

-- The time from which everything is known about a folder that lost entries or versions before their
-- time was over.
CREATE TABLE history_gaps (
    folder_id TEXT COLLATE "C" PRIMARY KEY,
    until     BIGINT NOT NULL           -- ms
);
CREATE INDEX history_gaps_age ON history_gaps (until);

-- The time from which places are recorded without a break; no row while they are not.
CREATE TABLE history (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    since BIGINT NOT NULL               -- ms
);

-- oldest: 0013: a column that may be null is added
-- The restore of a folder charges its owners without summing up its entries.

-- JSON, files.recordedTotals: folders, files and bytes of each account in the entry at its deletion;
-- null when a replica of an older schema recorded it
ALTER TABLE trash ADD COLUMN totals TEXT COLLATE "C";

-- oldest: 0013: columns that may be null or have a default are added. A replica that does not know
-- them stores new objects in the evacuated provider; the job moves those too
-- Evacuation: a job moves all objects of a provider, or of a mount, to another provider.

-- the job that evacuates the provider, and the provider that gets its objects; null for none
ALTER TABLE providers ADD COLUMN evacuation_id TEXT COLLATE "C";
ALTER TABLE providers ADD COLUMN evacuate_to TEXT COLLATE "C";
-- likewise of a mount: the provider of its new objects until provider_id names it too
ALTER TABLE mounts ADD COLUMN evacuation_id TEXT COLLATE "C";
ALTER TABLE mounts ADD COLUMN evacuate_to TEXT COLLATE "C";
-- the owner has paused a pending job, which no replica claims then
ALTER TABLE jobs ADD COLUMN paused BOOLEAN NOT NULL DEFAULT FALSE;

-- oldest: 0013: a column that may be null is added. A replica that does not know it serves damaged
-- objects as they are stored
-- Scrub: a job reads every object and marks those that are not what was stored.

-- when the object was found to be damaged, in ms; null while it is not known to be
ALTER TABLE objects ADD COLUMN damaged_at BIGINT;
-- counts the damaged objects
CREATE INDEX objects_damaged ON objects (id) WHERE damaged_at IS NOT NULL;

-- oldest: 0013: a table is added; the step that indexes the newest files needs nothing of older
-- replicas. An older replica leaves the favourites of entries and accounts that it deletes; no list
-- shows them, and those of entries go when their account reaches its limit (files.Tree.AddFavourite)
-- The favourites of accounts.

-- An entry that an account has starred. An account has at most 1,000.
CREATE TABLE favourites (
    user_id    TEXT COLLATE "C" NOT NULL,
    entry_id   TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,         -- ms
    PRIMARY KEY (user_id, entry_id)
);
-- those of a deleted entry
CREATE INDEX favourites_entry ON favourites (entry_id);

-- oldest: 0013: a table and a column that may be null are added. A replica that does not know them
-- leaves the column as it is when it replaces a content: the column names the former object then.
-- The properties of pictures, which the server reads in the background (package pictures).

-- The properties of a content; without them if it is not a picture that Larder can read.
CREATE TABLE pictures (
    content_id  TEXT COLLATE "C" PRIMARY KEY,
    width       BIGINT,                 -- pixels, after the orientation; the others are null with it
    height      BIGINT,
    orientation SMALLINT,               -- EXIF, 1 to 8
    taken_at    BIGINT,                 -- ms, null when the picture does not state it
    thumbhash   TEXT COLLATE "C"                    -- base64, null when the picture has no thumbnail
);

-- The object whose properties were read; null for none yet.
ALTER TABLE entries ADD COLUMN examined_object TEXT COLLATE "C";

-- oldest: 0013: columns that may be null are added. A replica of schema 27, which is in no release,
-- examines pictures without setting them. db.Unexamined lists new pictures again then. A replica of
-- any former schema that replaces a content leaves them: the next examination sets them.
-- The timeline of the pictures and videos of an account (files.Tree.Timeline).

ALTER TABLE entries ADD COLUMN taken_at BIGINT;  -- ms, of an examined picture that states it
-- Of an examined picture: its width divided by its height, in hundredths, at least 1; 0 if it cannot
-- be read. Null for a file that was not examined.
ALTER TABLE entries ADD COLUMN ratio INTEGER;

-- oldest: 0013: a table, and a column with a default, are added. No gap has a beginning while a
-- replica runs that does not know of them (files.addGaps)
-- Gaps in the history of folders with their beginnings. Those without are in history_gaps.

-- The times at which a folder had something that was deleted for good.
CREATE TABLE bounded_gaps (
    folder_id TEXT COLLATE "C" NOT NULL,
    since     BIGINT NOT NULL,          -- ms
    until     BIGINT NOT NULL,          -- ms, exclusive
    PRIMARY KEY (folder_id, since)
);
-- whether a time is in a gap
CREATE INDEX bounded_gaps_until ON bounded_gaps (folder_id, until);
-- the end of the retention
CREATE INDEX bounded_gaps_age ON bounded_gaps (until);

-- 1 once all replicas know gaps with a beginning
ALTER TABLE history ADD COLUMN bounded_gaps INTEGER NOT NULL DEFAULT 0;


INSERT INTO settings VALUES ('siteTitle', '"Larder"');
INSERT INTO users VALUES ('u1', 'Alice', 'alice', 'alice@example.org', 'alice@example.org', TRUE, '$argon2id$x', 'user', 'active', 'Alice', NULL, '/home/Alice', 'home1', 'en-US',
    'system', '#3b6cf6', TRUE, 1, 1, 1700000000000, 1700000000000, 1700000000000, 1700000000000);
INSERT INTO sessions VALUES ('jti1', 'u1', 1, 1, 'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0', '192.0.2.1', 1700000000000, 1700000060000,
    1700604800000, NULL);
INSERT INTO avatars VALUES ('4fTz0', 'u1', 'image/png', X'31', 1700000000000);
INSERT INTO sessions VALUES ('jti2', 'u1', 1, 1, '', '', 1700000000000, 1700000000000, 1700604800000, 1700000060000);
INSERT INTO csrf_tokens VALUES ('jti1', 'token', 1700000000000);
INSERT INTO quotas VALUES ('u1', 1000, 10, 5, 1, 7, 1, 1, 2, 1700000000000, 5, NULL);
INSERT INTO notifications VALUES ('n1', 'u1', 'quota:1700000000000', 'quota', '{"Percent":91}', 1700000000000, 1700000060000);
INSERT INTO api_keys VALUES ('pk_1', 'u1', 'key', 'hash', 'read,write', 'api', '/uploads', '', 'images', FALSE, NULL, NULL, NULL, 1700000000000, 1700000000000);
INSERT INTO providers VALUES ('p1', 'local', 'store_a', '', '', 'default', '', '', '', '', '', 'auto', FALSE, 'marker', 1700000000000, 1700000000000, 'j3', 'p2');
INSERT INTO mounts VALUES ('m1', 'p1', 'root1', '/', 'Files', 'name', 'asc', 0, 1700000000000, 1700000000000, 'j3', 'p2');
INSERT INTO rules VALUES ('r1', '/public/**', 'allow', NULL, 'guest', NULL, NULL, 'read,download', FALSE, NULL, '', 0, 1700000000000, 1700000000000);
INSERT INTO entries VALUES ('root1', NULL, 'Files', 'files', 0, 0, '', 'u1', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1700000000000, 1700000000000, NULL, 'files', 0, 0, NULL, NULL, NULL);
INSERT INTO entries VALUES ('e1', 'root1', '猫.jpg', '猫.jpg', 1, 5, 'image/jpeg', 'u1', 'o1', 'Cat', '#aabbcc', NULL, '🐈', 3, 'hash', 1700000000000, 1700000000000, 'p1', '猫.jpg', 0, 0, 'o1', 1752510659000, 75);
INSERT INTO objects VALUES ('o1', 'p1', 'ab/0123456789abcdef0123456789abcdef.jpg', 5, 'sha', 'etag', 1, 1700000000000, NULL, 1700000000000);
INSERT INTO objects VALUES ('o2', 'p1', 'ab/1123456789abcdef0123456789abcdef.jpg', 5, 'sha', 'etag', 1, 1700000000000, 'o1', NULL);
INSERT INTO garbage VALUES ('p1', 'cd/0123456789abcdef0123456789abcdef', 1700000000000, NULL, 'u1', 12, NULL, FALSE);
INSERT INTO garbage VALUES ('p1', 'ef/0123456789abcdef0123456789abcdef', 1700003600000, 'upload1', NULL, 0, 1700003600000, FALSE);
INSERT INTO links VALUES ('abcdefghijklmnopqrstuv', 'e1', 'jpg', 1700000000000);
INSERT INTO upload_sessions (id, user_id, mount_id, provider_id, target_path, base_id, missing, file_name, file_size, mime_type, conflict, idempotency_key, one_shot,
    status, reserved_storage, reserved_files, created_at, expires_at, replaces_id, freed)
    VALUES ('s1', 'u1', 'm1', 'p1', '/', 'root1', '', 'b.jpg', 7, '', 'replace', 'again', FALSE, 'pending', 2, 0, 1700000000000, 1700003600000, 'e1', 5);
INSERT INTO upload_sessions (id, user_id, mount_id, provider_id, target_path, base_id, missing, file_name, file_size, mime_type, conflict, idempotency_key, one_shot,
    status, reserved_storage, reserved_files, created_at, expires_at, object_key, upload_id, total_parts, kept_until, parts_recorded)
    VALUES ('s2', 'u1', 'm1', 'p1', '/', 'root1', '', 'c.mp4', 20000000, '', 'rename', 'tomorrow', FALSE, 'expired', 8388608, 0, 1700000000000, 1700003600000,
    'ef/0123456789abcdef0123456789abcdef', 'upload1', 3, 1700090000000, TRUE);
INSERT INTO upload_parts VALUES ('s2', 1, 'b6579723102f9c0a77d5069aafd0c000');
INSERT INTO guesses VALUES ('username:u1', 1700000000000000);
INSERT INTO download_tokens VALUES ('hash', 'e1', 'u1', NULL, 'signed', 'o1', NULL, 1700000900000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO download_tokens VALUES ('hash2', 'e1', 'u1', NULL, 'download', NULL, NULL, 1700000900000, NULL, 'abcdefghijkl', NULL, NULL, NULL, 'e1,e2', NULL);
INSERT INTO download_tokens VALUES ('hash3', 'e1', 'u1', NULL, 'download', NULL, NULL, 1700000900000, NULL, NULL, 2, 1, 'jti1', NULL, 1699999000000);
INSERT INTO mailed_tokens VALUES ('hash', 'u1', 'verify', 'alice@example.org', 1700086400000, NULL, 1700000000000);
INSERT INTO email_codes VALUES ('c1', 'u1', 'Alice@example.com', 'alice@example.com', 'mac', 2, 1700000300000, NULL, 1700000000000);
INSERT INTO wrong_codes VALUES ('w1', 'u1', 1700000000000);
INSERT INTO invites VALUES ('i1', 'code', 5, 1, NULL, 'for friends', 'u1', 1700000000000);
INSERT INTO shares VALUES ('abcdefghijkl', 'e1', 'u1', NULL, 'hash', 'p2', 'p1', 1700086400000, 10, 2, 3, 1, TRUE, TRUE, NULL, 1700000000000, 1700000000000, 1700086400000);
INSERT INTO announcements VALUES ('a1', 'Hello', 'World', 'info', NULL, 1700000000000, 1700000000000);
INSERT INTO legacies VALUES ('u9', 'u1', FALSE, 1700000000000);
INSERT INTO jobs VALUES ('j1', 'move', 'u1', 'completed', 100, NULL, 1700000000000, 1700000000001, '', 0, 0, 0, 0, NULL, FALSE);
INSERT INTO entries VALUES ('e2', 'staging', 'e2', 'e2', 0, 0, '', 'u1', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1700000000000, 1700000000000, NULL, 'e12', 0, 0, NULL, NULL, NULL);
INSERT INTO entries VALUES ('e3', 'trash', 'e3', 'e3', 1, 5, 'image/jpeg', 'u1', 'o1', NULL, NULL, NULL, NULL, NULL, NULL, 1700000000000, 1700000000000, NULL, 'e13', 0, 0, NULL, NULL, NULL);
INSERT INTO trash VALUES ('e3', 'u1', 'u1', NULL, 1700000000000, 'deleted', 'cat.jpg', 'cat.jpg', 'root1', '[{"id":"root1","name":"","owner":"u1"}]', 'm1', 'p1', '/cat.jpg', 1, 0, 5, '[{"Owner":"u1","Folders":0,"Files":1,"Bytes":5}]');
INSERT INTO favourites VALUES ('u1', 'e1', 1700000000000);
INSERT INTO pictures VALUES ('o1', 3024, 4032, 6, 1752510659000, 'YJXQ');
INSERT INTO trash_sizes VALUES ('e3', 'u1', 1700000000000, 5);
INSERT INTO past VALUES ('e1', 1690000000000, 1699999000000, 'root1', 'cat.jpg', 5, 'image/jpeg', 'u1', 'o1', 'replace', 'u1', 'pk_1');
INSERT INTO former_places VALUES ('e1', 1690000000000, 1699999000000, 'root1', 'cat.jpg', 'cat.jpg', 'cat.jpg', 1);
INSERT INTO history_gaps VALUES ('root1', 1699999000000);
INSERT INTO bounded_gaps VALUES ('root1', 1698999000000, 1699999000000);
INSERT INTO history VALUES (1, 1690000000000, 1);
INSERT INTO copies VALUES ('j3', 'e2', 'u1', 1000, 3, 0, 0, 2);
INSERT INTO jobs VALUES ('j3', 'copy', 'u1', 'pending', 0, NULL, 1700000000000, NULL, '{}', 4096, 0, 0, 1700000000000, NULL, TRUE);
INSERT INTO locks VALUES ('f81d4fae-7dec-11d0-a765-00a0c91e6bf6', 'e1', FALSE, TRUE, 'pk_1', '<D:href xmlns:D="DAV:">mailto:alice@example.org</D:href>', 1700003600000);
INSERT INTO properties VALUES ('e1', 'http://example.org/ns', 'author', 'en', '<b xmlns="">Alice</b>');
INSERT INTO properties VALUES ('e1', '', 'Straße', '', '');
INSERT INTO free_sessions VALUES ('hash', 'fm_0123456789', 'token', 'v1.sealed', '192.0.2.1', 1700000000000, 1700003600000);
INSERT INTO replicas VALUES ('web-1-0123456789', '1.2.3', 15, 2, 1700000000000);
INSERT INTO schema_steps VALUES ('backfill', 'e1', 'web-1-0123456789', 1700000020000, NULL);
INSERT INTO jobs VALUES ('j2', 'move', 'u1', 'running', 40, NULL, 1700000000000, NULL, '{}', 100, 40, 1, 1700000060000, 'replica', FALSE);

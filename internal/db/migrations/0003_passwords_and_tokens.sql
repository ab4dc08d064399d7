-- oldest: 0003: an older replica sets passwords without a new password_id, and takes a signed link for a token that is used once
-- Passwords of entries that can be unlocked, and download tokens of more kinds.

-- Drawn anew with each password of an entry: what a proof that the password was given names, so that a new password ends what the old one opened.
-- Null for a password of before; the entry's id takes its place.
ALTER TABLE entries ADD COLUMN password_id TEXT;

-- Which content it is. An object that was copied elsewhere for one of the files that share it is the same content: it names the one that it was
-- copied from, so that ETags and what is bound to the content last. Null for the object's own id.
ALTER TABLE objects ADD COLUMN content_id TEXT;

-- What a token is for: `download` saves once; `preview` shows, any number of times; `signed` is a link for as long as was asked for, any number
-- of times, to the content that the file had then.
CREATE TABLE tokens (
    hash        TEXT PRIMARY KEY,       -- SHA-256 of what the client holds
    entry_id    TEXT NOT NULL,
    user_id     TEXT,                   -- on whose behalf; null for a visitor
    key_id      TEXT,
    purpose     TEXT NOT NULL CHECK (purpose IN ('download', 'preview', 'signed')),
    object_id   TEXT,                   -- signed: the content, as objects.content_id has it; null else
    proof       TEXT,                   -- what passwords were given, null for none
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
    job_id           TEXT PRIMARY KEY,
    entry_id         TEXT NOT NULL,     -- directly below staging
    user_id          TEXT NOT NULL,
    reserved_storage BIGINT NOT NULL,
    reserved_files   BIGINT NOT NULL,
    made_storage     BIGINT NOT NULL,
    made_files       BIGINT NOT NULL
);

-- oldest: 0013: a table and a column that may be null are added. No version is made while a replica
-- runs that knows none (files.Tree.keepVersion)
-- Versions of files.

-- The content that a file had. Each row holds one reference to its object.
CREATE TABLE past (
    entry_id  TEXT NOT NULL,            -- the file
    since     BIGINT NOT NULL,          -- ms: it had this content from then
    until     BIGINT NOT NULL,          -- ms: to then; with entry_id the id of the version
    parent_id TEXT NOT NULL,            -- the folder at the end of that time
    name      TEXT NOT NULL,            -- as above
    size      BIGINT NOT NULL,
    mime_type TEXT NOT NULL,
    owner_id  TEXT NOT NULL,            -- the account that its bytes are counted for
    object_id TEXT NOT NULL,
    op        TEXT NOT NULL CHECK (op IN ('replace')),  -- the end of that time
    by_user   TEXT,                     -- the account that did it; null for a visitor
    by_key    TEXT,                     -- its API key; null for none
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

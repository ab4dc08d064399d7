-- oldest: 0013: a root entry, tables and columns with defaults are added. Nothing goes to the trash
-- while a replica runs that knows no trash (files.Tree.checkTrash)
-- The trash.

-- Entries in the trash are directly below this root, which no mount has; each has its id as name.
INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, created_at, updated_at, sort_key)
VALUES ('trash', NULL, 'trash', 'trash', 0, 0, '', '', 0, 0, 'trash');

-- An entry in the trash, and the place that it came from.
CREATE TABLE trash (
    entry_id       TEXT PRIMARY KEY,    -- directly below the root trash
    owner_id       TEXT NOT NULL,       -- the owner of the entry
    deleted_by     TEXT NOT NULL,       -- an account
    deleted_by_key TEXT,                -- its API key; null for none
    deleted_at     BIGINT NOT NULL,     -- ms
    reason         TEXT NOT NULL CHECK (reason IN ('deleted', 'replaced', 'rewind')),
    name           TEXT NOT NULL,
    name_fold      TEXT NOT NULL,       -- for the search
    parent_id      TEXT NOT NULL,       -- the folder that it was in
    parents        TEXT NOT NULL,       -- JSON: files.formerFolder, from the root of the mount down to parent_id
    mount_id       TEXT NOT NULL,
    provider_id    TEXT NOT NULL,       -- of that mount at that time
    path           TEXT NOT NULL,       -- at that time
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
    entry_id   TEXT NOT NULL,
    owner_id   TEXT NOT NULL,
    deleted_at BIGINT NOT NULL,         -- of the entry
    size       BIGINT NOT NULL,
    PRIMARY KEY (entry_id, owner_id)
);
-- the oldest entries with bytes of an account
CREATE INDEX trash_sizes_owner ON trash_sizes (owner_id, deleted_at, entry_id);

-- The bytes of an account that only the trash keeps, and their bound; null for the default.
ALTER TABLE quotas ADD COLUMN kept_storage BIGINT NOT NULL DEFAULT 0 CHECK (kept_storage >= 0);
ALTER TABLE quotas ADD COLUMN max_kept BIGINT;

-- oldest: 0013: a table is added; the step that indexes the newest files needs nothing of older
-- replicas. An older replica leaves the favourites of entries and accounts that it deletes; no list
-- shows them, and those of entries go when their account reaches its limit (files.Tree.AddFavourite)
-- The favourites of accounts.

-- An entry that an account has starred. An account has at most 1,000.
CREATE TABLE favourites (
    user_id    TEXT NOT NULL,
    entry_id   TEXT NOT NULL,
    created_at BIGINT NOT NULL,         -- ms
    PRIMARY KEY (user_id, entry_id)
);
-- those of a deleted entry
CREATE INDEX favourites_entry ON favourites (entry_id);

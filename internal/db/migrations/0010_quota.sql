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
ALTER TABLE garbage ADD COLUMN owner_id TEXT;
ALTER TABLE garbage ADD COLUMN size BIGINT NOT NULL DEFAULT 0;
-- how much an account has, the oldest first
CREATE INDEX garbage_owner ON garbage (owner_id, after, size) WHERE owner_id IS NOT NULL;

-- The file that a session is to replace and whose bytes are not reserved once more, null for none, and how many bytes those are.
ALTER TABLE upload_sessions ADD COLUMN replaces_id TEXT;
ALTER TABLE upload_sessions ADD COLUMN freed BIGINT NOT NULL DEFAULT 0;
-- the bytes of a file are left out of one reservation at a time
CREATE UNIQUE INDEX upload_sessions_replaces_unique ON upload_sessions (replaces_id)
    WHERE replaces_id IS NOT NULL AND (status = 'pending' OR kept_until IS NOT NULL);

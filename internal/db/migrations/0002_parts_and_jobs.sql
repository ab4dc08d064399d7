-- oldest: 0002: an older replica takes a session in parts for one whose bytes are all there
-- Uploads in parts, background jobs that are leased, and what looks objects up by their key.

-- What the store calls an upload in parts; null for a session whose bytes come in one piece. object_key is then the key that the object will have.
ALTER TABLE upload_sessions ADD COLUMN upload_id TEXT;
ALTER TABLE upload_sessions ADD COLUMN total_parts BIGINT;
-- Of an expired session whose parts are kept for whoever comes back with its idempotency key: until when.
ALTER TABLE upload_sessions ADD COLUMN kept_until BIGINT;
-- adopting kept parts by their key, and the sweep of those that nobody came back for
CREATE UNIQUE INDEX upload_sessions_kept_unique ON upload_sessions (user_id, idempotency_key) WHERE kept_until IS NOT NULL;
CREATE INDEX upload_sessions_kept ON upload_sessions (kept_until) WHERE kept_until IS NOT NULL;

-- The parts that may lie in the store for this key: the collector has the store drop them as well. Null for none.
ALTER TABLE garbage ADD COLUMN upload_id TEXT;

-- A key belongs to one object; the sweep of what nothing refers to asks by it.
CREATE UNIQUE INDEX objects_key_unique ON objects (provider_id, key);

-- What a job works on (the package that runs the type reads it), how far it is in bytes, and who has it until when: `due` is when a pending
-- job may begin and when the lease of a running one ends.
ALTER TABLE jobs ADD COLUMN payload TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN total_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN done_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN due BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN holder TEXT;
-- the next job to run
CREATE INDEX jobs_due ON jobs (due) WHERE status IN ('pending', 'running');

-- Listings in any order and searches by name, of a folder's files or folders, whoever's they are: read from the index alone, but for the rows of
-- one page. And the walk down over folders.
DROP INDEX entries_listing;
CREATE INDEX entries_listing ON entries (parent_id, kind, name_fold, name, owner_id, updated_at, size, manual_position);

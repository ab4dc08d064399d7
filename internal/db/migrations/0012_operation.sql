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

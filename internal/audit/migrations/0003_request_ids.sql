-- oldest: 0001: replicas of earlier versions leave the new column null
-- The id of the request that an entry comes from, null for sums. The list searches it without an index, as it searches paths.
ALTER TABLE access_log ADD COLUMN request_id TEXT;

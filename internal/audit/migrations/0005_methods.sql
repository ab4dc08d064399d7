-- oldest: 0001: replicas of earlier versions leave the new column null
-- The method of the request that an entry comes from, null for sums. It tells a change from a deletion.
ALTER TABLE access_log ADD COLUMN method TEXT;

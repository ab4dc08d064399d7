-- oldest: 0013: a column with a default is added; the step that fills it in waits for older replicas
-- The order of names in listings.

-- The key by which names are sorted (vpath.SortKey), before the names themselves. '' until a step
-- has computed it (internal/db/sort_keys.go); listings sort by name_fold until then.
ALTER TABLE entries ADD COLUMN sort_key TEXT NOT NULL DEFAULT '';

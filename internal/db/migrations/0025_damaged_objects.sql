-- oldest: 0013: a column that may be null is added. A replica that does not know it serves damaged
-- objects as they are stored
-- Scrub: a job reads every object and marks those that are not what was stored.

-- when the object was found to be damaged, in ms; null while it is not known to be
ALTER TABLE objects ADD COLUMN damaged_at BIGINT;
-- counts the damaged objects
CREATE INDEX objects_damaged ON objects (id) WHERE damaged_at IS NOT NULL;

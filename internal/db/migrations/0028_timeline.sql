-- oldest: 0013: columns that may be null are added. A replica of schema 27, which is in no release,
-- examines pictures without setting them. db.Unexamined lists new pictures again then. A replica of
-- any former schema that replaces a content leaves them: the next examination sets them.
-- The timeline of the pictures and videos of an account (files.Tree.Timeline).

ALTER TABLE entries ADD COLUMN taken_at BIGINT;  -- ms, of an examined picture that states it
-- Of an examined picture: its width divided by its height, in hundredths, at least 1; 0 if it cannot
-- be read. Null for a file that was not examined.
ALTER TABLE entries ADD COLUMN ratio INTEGER;

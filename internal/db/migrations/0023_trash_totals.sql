-- oldest: 0013: a column that may be null is added
-- The restore of a folder charges its owners without summing up its entries.

-- JSON, files.recordedTotals: what each account had in the entry when it went to the trash; null when
-- an older replica recorded it
ALTER TABLE trash ADD COLUMN totals TEXT;

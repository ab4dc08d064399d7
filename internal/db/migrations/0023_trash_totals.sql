-- oldest: 0013: a column that may be null is added
-- The restore of a folder charges its owners without summing up its entries.

-- JSON, files.recordedTotals: folders, files and bytes of each account in the entry at its deletion;
-- null when a replica of an older schema recorded it
ALTER TABLE trash ADD COLUMN totals TEXT;

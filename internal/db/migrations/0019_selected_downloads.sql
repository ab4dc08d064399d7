-- oldest: 0013: a column that may be null is added. An older replica sends the whole shared folder
-- for a token of some files in it
-- Downloads of some files of a share.

-- The ids of the files in the shared folder entry_id that are sent as one archive, with commas; null
-- for the entry itself.
ALTER TABLE download_tokens ADD COLUMN selected TEXT;

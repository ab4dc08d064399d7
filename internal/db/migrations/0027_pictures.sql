-- oldest: 0013: a table and a column that may be null are added. A replica that does not know them
-- leaves the column as it is when it replaces a content: the column names the former object then.
-- The properties of pictures, which the server reads in the background (package pictures).

-- The properties of a content; without them if it is not a picture that Larder can read.
CREATE TABLE pictures (
    content_id  TEXT PRIMARY KEY,
    width       BIGINT,                 -- pixels, after the orientation; the others are null with it
    height      BIGINT,
    orientation SMALLINT,               -- EXIF, 1 to 8
    taken_at    BIGINT,                 -- ms, null when the picture does not state it
    thumbhash   TEXT                    -- base64, null when the picture has no thumbnail
);

-- The object whose properties were read; null for none yet.
ALTER TABLE entries ADD COLUMN examined_object TEXT;

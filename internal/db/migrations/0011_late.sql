-- oldest: 0011: an older replica forgets keys to which a client may still bring an object
-- Objects that a client may still bring to a key after the collector has deleted it.

-- From when on (ms) the object of this key can come to its end only by a request that was begun before: when the address that clients send bytes to expires.
-- NULL for a key that no client writes to. The collector looks for such an object again for a while after it has deleted it once.
ALTER TABLE garbage ADD COLUMN late_from BIGINT;
-- Whether the object has been deleted once, and the row only stands for what may come late.
ALTER TABLE garbage ADD COLUMN collected BOOLEAN NOT NULL DEFAULT FALSE;

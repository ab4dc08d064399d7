-- oldest: 0006: an older replica changes what a WebDAV client has locked
-- What WebDAV clients leave on files and folders: locks for a while, properties for good.

-- Locks that have expired are none; the sweep takes them away.
CREATE TABLE locks (
    token      TEXT PRIMARY KEY,        -- the UUID of `urn:uuid:…`
    entry_id   TEXT NOT NULL,
    deep       BOOLEAN NOT NULL,        -- covers all that is below as well
    exclusive  BOOLEAN NOT NULL,
    key_id     TEXT NOT NULL,           -- the API key that made it; nobody else's requests may use it
    owner      TEXT NOT NULL,           -- XML that the client sent, for people to read
    expires_at BIGINT NOT NULL
);
-- asked by every change of an entry
CREATE INDEX locks_entry ON locks (entry_id);
-- how many a key has, and all of them when it ends
CREATE INDEX locks_key ON locks (key_id);
-- the sweep
CREATE INDEX locks_expiry ON locks (expires_at);

-- Content that goes on under another object since it was carried to another provider. Few has been; listings ask whether any has.
CREATE INDEX objects_continued ON objects (id) WHERE content_id IS NOT NULL;

-- Dead properties (RFC 4918, section 4): what clients keep with an entry, without any meaning to the service.
CREATE TABLE properties (
    entry_id  TEXT NOT NULL,
    namespace TEXT NOT NULL,            -- '' for none
    name      TEXT NOT NULL,
    lang      TEXT NOT NULL,            -- xml:lang, '' for none
    value     TEXT NOT NULL,            -- XML
    PRIMARY KEY (entry_id, namespace, name)
);

-- oldest: 0013: only a table is added. An older replica that deletes an account leaves its picture
-- behind; nothing shows it, since a picture is read together with its account
-- The pictures of accounts.

-- The picture that a user has uploaded, made small. Another picture has another id, so that
-- addresses may be cached for ever.
CREATE TABLE avatars (
    id         TEXT PRIMARY KEY,        -- random: it is the permission to see the picture
    user_id    TEXT NOT NULL,
    media_type TEXT NOT NULL,           -- image/webp, image/jpeg or image/png
    content    BLOB NOT NULL,
    created_at BIGINT NOT NULL          -- ms
);
-- the picture of an account; an account has one
CREATE UNIQUE INDEX avatars_user ON avatars (user_id);

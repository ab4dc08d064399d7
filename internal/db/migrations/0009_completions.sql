-- oldest: 0009: an older replica takes parts for lost while another one completes them
-- The lease of the completion of a session in parts that asks the store at this moment, and until when (ms) it holds unless it is renewed. A time without
-- a lease is when a completion last asked the store and got no clear answer: the store may go on for some minutes.
ALTER TABLE upload_sessions ADD COLUMN completing_by TEXT;
ALTER TABLE upload_sessions ADD COLUMN completing_until BIGINT;

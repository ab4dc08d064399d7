-- oldest: 0013: columns that may be null or have a default are added. A replica that does not know
-- them stores new objects in the evacuated provider; the job moves those too
-- Evacuation: a job moves all objects of a provider, or of a mount, to another provider.

-- the job that evacuates the provider, and the provider that gets its objects; null for none
ALTER TABLE providers ADD COLUMN evacuation_id TEXT;
ALTER TABLE providers ADD COLUMN evacuate_to TEXT;
-- likewise of a mount: the provider of its new objects until provider_id names it too
ALTER TABLE mounts ADD COLUMN evacuation_id TEXT;
ALTER TABLE mounts ADD COLUMN evacuate_to TEXT;
-- the owner has paused a pending job, which no replica claims then
ALTER TABLE jobs ADD COLUMN paused BOOLEAN NOT NULL DEFAULT FALSE;

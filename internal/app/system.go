package app

import (
	"larder/internal/api"
	"larder/internal/kv/redis"
)

// warnings returns the problems of this process that the system page shows to an administrator.
func (a *App) warnings() []api.SystemWarning {
	var all []api.SystemWarning
	if file := a.damagedAuditFile; file != "" {
		all = append(all, api.SystemWarning{Code: "access_log_replaced", File: file,
			Message: "The access log was damaged when the service started, so it was set aside as " + file +
				" and a new one was begun. Check the disk."})
	}
	if a.redisIsDown() {
		all = append(all, api.SystemWarning{Code: "limits_not_shared",
			Message: "Redis does not answer, so each replica counts rate limits by itself. Check that the server of " +
				"LARDER_REDIS_URL runs. The limits are shared again as soon as it answers."})
	}
	if a.scrubBackupMissing.Load() {
		all = append(all, api.SystemWarning{Code: "scrub_backup_missing",
			Message: "The backup of LARDER_SCRUB_BACKUP can't be read, so damaged objects are not healed from it. " +
				"The log says why. Mount its disk, or correct the setting."})
	}
	return all
}

// redisIsDown reports whether Redis is configured and does not answer, so that rate limits count in
// this process alone.
func (a *App) redisIsDown() bool {
	shared, is := a.counters.(*redis.Store)
	return is && shared.State().Down
}

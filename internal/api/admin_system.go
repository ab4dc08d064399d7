package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"larder/internal/backup"
	"larder/internal/db"
	"larder/internal/fsck"
	"larder/internal/job"
	"larder/internal/object"
	"larder/internal/provider"
)

const (
	// systemTimeout bounds the time that the page waits for disks, and systemBucketTimeout the time
	// that it waits for buckets.
	systemTimeout       = 2 * time.Second
	systemBucketTimeout = 1500 * time.Millisecond
	// systemReplicaTime is how long a replica stays listed after it last reported. Replicas report
	// twice in this time.
	systemReplicaTime = time.Minute
	// maxCountedRows is the number of rows at which counting stops.
	maxCountedRows = 100_000
	// maxBackupAge is the largest age of the last backup without a warning. The alert
	// LarderBackupOld in deploy/prometheus/alerts.yml uses the same age.
	maxBackupAge = 48 * time.Hour
)

type systemReplicaReply struct {
	ID            string `json:"id" required:"true" description:"Id of the process; begins with the name of its host."`
	Version       string `json:"version" required:"true"`
	SchemaVersion int    `json:"schemaVersion" required:"true" description:"The newest schema version that the replica knows."`
	SeenAt        int64  `json:"seenAt" required:"true" description:"ms, by the clock of the database."`
}

type systemDatabaseReply struct {
	Engine        string `json:"engine" required:"true" enum:"sqlite,postgres"`
	SchemaVersion int    `json:"schemaVersion" required:"true"`
	Reachable     bool   `json:"reachable" required:"true"`
}

type systemStoreReply struct {
	ProviderID string `json:"providerId" required:"true"`
	Name       string `json:"name" required:"true"`
	Type       string `json:"type" required:"true" enum:"store_a,store_b,store_c"`
	Status     string `json:"status" required:"true" enum:"ok,unavailable"`
	LatencyMS  *int64 `json:"latencyMs" required:"true" description:"Latency of the last answer, at most some seconds old; null when the store is unavailable."`
	FreeSpace  *int64 `json:"freeSpace" required:"true" description:"Bytes free on the disk; null for buckets and for a disk that is not available."`
}

type systemJobsReply struct {
	Pending   int64 `json:"pending" required:"true"`
	Running   int64 `json:"running" required:"true"`
	Completed int64 `json:"completed" required:"true" description:"In the last 30 days."`
	Failed    int64 `json:"failed" required:"true" description:"In the last 30 days."`
}

type systemGarbageReply struct {
	Objects int64 `json:"objects" required:"true" description:"Objects waiting to be deleted from the stores."`
	Bytes   int64 `json:"bytes" required:"true" description:"Bytes of those objects that were the content of files."`
}

type systemThumbnailsReply struct {
	Files int   `json:"files" required:"true"`
	Bytes int64 `json:"bytes" required:"true"`
}

type systemCachesReply struct {
	Thumbnails *systemThumbnailsReply `json:"thumbnails" required:"true" description:"Thumbnail cache of the replica that answers; null when thumbnails are switched off."`
}

type systemOutcomeReply struct {
	EndedAt  int64 `json:"endedAt" required:"true" description:"ms."`
	Problems int64 `json:"problems" required:"true" description:"Number of problems that the command reported."`
}

type systemScrubReply struct {
	EndedAt  int64 `json:"endedAt" required:"true" description:"ms."`
	Problems int64 `json:"problems" required:"true" description:"Number of damaged objects that the pass found, with those that it healed."`
	Healed   int64 `json:"healed" required:"true" description:"Number of these that it healed from an intact copy."`
	Objects  int64 `json:"objects" required:"true" description:"Number of objects that it read."`
	Bytes    int64 `json:"bytes" required:"true" description:"Bytes that it read."`
	Unread   int64 `json:"unread" required:"true" description:"Number of objects that it could not read, since their store was not available."`
}

// SystemWarning is a problem that needs an administrator. Besides its code and its sentence it has
// the names and figures of the sentence.
type SystemWarning struct {
	Code      string `json:"code" required:"true" enum:"store_unavailable,disk_full,disk_nearly_full,objects_damaged,jobs_failed,backup_old,backup_problems,fsck_problems,access_log_replaced,limits_not_shared,scrub_backup_missing"`
	Message   string `json:"message" required:"true" description:"The sentence of the problem, as in warnings."`
	Provider  string `json:"provider,omitempty" description:"Name of the provider whose store or disk has the problem."`
	FreeSpace *int64 `json:"freeSpace,omitempty" description:"Bytes free on the disk."`
	Objects   int64  `json:"objects,omitempty" description:"Number of damaged objects."`
	JobType   string `json:"jobType,omitempty" description:"Type of the failed jobs, such as move. message names the same type."`
	Jobs      int64  `json:"jobs,omitempty" description:"Number of the failed jobs of this type in the last two days, counted up to 100000 with those of the other types."`
	Since     int64  `json:"since,omitempty" description:"When the first of these jobs failed (ms)."`
	Problems  int64  `json:"problems,omitempty" description:"Number of problems that the last run of the command reported."`
	EndedAt   int64  `json:"endedAt,omitempty" description:"When the last backup ended (ms)."`
	MinFree   *int64 `json:"minFree,omitempty" description:"Bytes of free space below which uploads are refused."`
	File      string `json:"file,omitempty" description:"Path of the file that was set aside."`
}

type systemReply struct {
	Version    string               `json:"version" required:"true"`
	BaseURL    string               `json:"baseUrl" required:"true" description:"The address that links and mails begin with, without a trailing slash."`
	Replicas   []systemReplicaReply `json:"replicas" required:"true" description:"Replicas seen in the last minute, sorted by id."`
	Database   systemDatabaseReply  `json:"database" required:"true"`
	Stores     []systemStoreReply   `json:"stores" required:"true" description:"Stores of all providers, oldest first."`
	Jobs       systemJobsReply      `json:"jobs" required:"true" description:"Each status is counted up to 100000."`
	Garbage    systemGarbageReply   `json:"garbage" required:"true" description:"Counted up to 100000."`
	Caches     systemCachesReply    `json:"caches" required:"true"`
	LastBackup *systemOutcomeReply  `json:"lastBackup" required:"true" description:"The last completed backup; null when there was none."`
	LastFsck   *systemOutcomeReply  `json:"lastFsck" required:"true" description:"The last fsck that ran to its end; null when there was none."`
	LastScrub  *systemScrubReply    `json:"lastScrub" required:"true" description:"The last pass of the scrub that ran to its end; null when there was none."`
	Damaged    int64                `json:"damagedObjects" required:"true" description:"Objects that are marked as damaged now. Their files answer 500."`
	Warnings   []string             `json:"warnings" required:"true" description:"Problems that need an administrator, a sentence each; some concern only the replica that answers."`
	Details    []SystemWarning      `json:"warningDetails" required:"true" description:"The same problems in the same order, each with a code and the figures of its sentence."`
}

// system handles GET /api/admin/system: it reports the state of the database, the replicas, the
// stores, the jobs and the garbage, and warnings. It waits at most systemTimeout for stores and
// counts at most maxCountedRows rows.
func (a *API) system(c *call, _ struct{}) (systemReply, error) {
	reply := systemReply{Version: a.Version, BaseURL: a.BaseURL, Replicas: []systemReplicaReply{},
		Stores: []systemStoreReply{}, Warnings: []string{}, Details: []SystemWarning{}}
	for _, part := range []func(context.Context, *systemReply) error{a.systemDatabase, a.systemReplicas, a.systemCounts,
		a.systemStores, a.systemDamage, a.systemFailures, a.systemCommands} {
		if err := part(c.ctx(), &reply); err != nil {
			return systemReply{}, err
		}
	}
	if a.Thumbs != nil {
		files, bytes := a.Thumbs.CacheSize()
		reply.Caches.Thumbnails = &systemThumbnailsReply{files, bytes}
	}
	reply.Details = append(reply.Details, a.Warnings()...)
	for _, warning := range reply.Details {
		reply.Warnings = append(reply.Warnings, warning.Message)
	}
	return reply, nil
}

// systemDatabase fills in the engine and the schema version. A database that does not answer is an
// error of the whole request.
func (a *API) systemDatabase(ctx context.Context, reply *systemReply) (err error) {
	reply.Database = systemDatabaseReply{Engine: string(a.DB.Dialect()), Reachable: true}
	reply.Database.SchemaVersion, err = a.DB.SchemaVersion(ctx)
	return err
}

// systemReplicas fills in the processes that reported to the database within systemReplicaTime.
func (a *API) systemReplicas(ctx context.Context, reply *systemReply) error {
	replicas, err := a.DB.Replicas(ctx, systemReplicaTime)
	for _, r := range replicas {
		reply.Replicas = append(reply.Replicas, systemReplicaReply{r.ID, r.Version, r.Schema, r.Seen})
	}
	return err
}

// systemCounts fills in the numbers of jobs and of garbage.
func (a *API) systemCounts(ctx context.Context, reply *systemReply) error {
	q := a.DB.Read(ctx)
	jobs, err := job.Count(q, maxCountedRows)
	if err != nil {
		return err
	}
	reply.Jobs = systemJobsReply(jobs)
	if reply.Garbage.Objects, reply.Garbage.Bytes, err = object.CountGarbage(q, maxCountedRows); err != nil {
		return err
	}
	return nil
}

// systemDamage fills in the last scrub and the number of damaged objects, with a warning for them.
func (a *API) systemDamage(ctx context.Context, reply *systemReply) (err error) {
	q := a.DB.Read(ctx)
	endedAt, last, err := fsck.LastScrub(q)
	switch {
	case err == nil:
		reply.LastScrub = &systemScrubReply{endedAt, last.Findings, last.Healed, last.Objects, last.Bytes, last.Unread}
	case !errors.Is(err, db.ErrNoRows):
		return err
	}
	if reply.Damaged, err = object.CountDamaged(q); err != nil || reply.Damaged == 0 {
		return err
	}
	reply.Details = append(reply.Details, SystemWarning{Code: "objects_damaged", Objects: reply.Damaged,
		Message: fmt.Sprintf("Damaged objects: %d. Their files can't be read. Heal the objects from a backup with "+
			"`larder scrub --now --from BACKUP`, which prints the names of the files, or replace the files.",
			reply.Damaged)})
	return nil
}

// systemFailures fills in a warning for each type of jobs that the service could not complete.
func (a *API) systemFailures(ctx context.Context, reply *systemReply) error {
	failures, err := job.CountFailures(a.DB.Read(ctx), a.Now().UnixMilli(), maxCountedRows)
	for _, f := range failures {
		reply.Details = append(reply.Details, SystemWarning{Code: "jobs_failed", JobType: f.Type, Jobs: f.Jobs,
			Since: f.Since,
			Message: fmt.Sprintf("Jobs of the type %q that failed in the last two days: %d, the first at %s. For each "+
				"of them a line of the log begins with `a job failed` and has its account and the cause. Remove "+
				"the cause, then start the jobs again, or ask their users to do so.", f.Type, f.Jobs,
				time.UnixMilli(f.Since).UTC().Format(time.RFC3339))})
	}
	return err
}

// systemCommands fills in the last runs of backup and fsck. It warns of an old backup, and of the
// problems that the last run reported.
func (a *API) systemCommands(ctx context.Context, reply *systemReply) error {
	for _, command := range []struct {
		name string
		last **systemOutcomeReply
	}{{backup.Command, &reply.LastBackup}, {fsck.Command, &reply.LastFsck}} {
		result, err := db.LastCommandResult(a.DB.Read(ctx), command.name)
		if errors.Is(err, db.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		*command.last = &systemOutcomeReply{result.EndedAt, result.Problems}
		if result.Problems > 0 {
			reply.Details = append(reply.Details, SystemWarning{Code: command.name + "_problems",
				Problems: result.Problems,
				Message: fmt.Sprintf("Problems that the last run of `larder %s` reported: %d. Its output names them. "+
					"Run it again after you have fixed them.", command.name, result.Problems)})
		}
	}
	if last := reply.LastBackup; last != nil && a.Now().Sub(time.UnixMilli(last.EndedAt)) > maxBackupAge {
		reply.Details = append(reply.Details, SystemWarning{Code: "backup_old", EndedAt: last.EndedAt,
			Message: fmt.Sprintf("The last backup ended at %s. Find out why the timer or cron job of "+
				"`larder backup` fails or does not run.", time.UnixMilli(last.EndedAt).UTC().Format(time.RFC3339))})
	}
	return nil
}

// systemStores fills in the status of each store, and a warning for each store that does not answer
// or is nearly full. It bounds its own time by systemTimeout.
func (a *API) systemStores(ctx context.Context, reply *systemReply) error {
	ctx, cancel := context.WithTimeout(ctx, systemTimeout)
	defer cancel()
	statuses, err := a.StoreStatuses(ctx, systemBucketTimeout)
	if err != nil {
		return err
	}
	for _, s := range statuses {
		store := systemStoreReply{ProviderID: s.Provider.ID, Name: s.Provider.Name, Type: s.Provider.Type, Status: "ok"}
		if s.Err == nil {
			latency := s.Latency.Milliseconds()
			store.LatencyMS = &latency
		} else {
			store.Status = "unavailable"
		}
		if s.Free >= 0 {
			store.FreeSpace = &s.Free
		}
		reply.Stores = append(reply.Stores, store)
		if warning := a.storeWarning(s); warning.Code != "" {
			reply.Details = append(reply.Details, warning)
		}
	}
	return nil
}

// SystemWarnings returns the problems that need an administrator: those of all stores, of damaged
// objects, of failed jobs, of backups and checks, and those of this process. ServeReadiness shows
// them to operators. The error is that of the database.
func (a *API) SystemWarnings(ctx context.Context) ([]SystemWarning, error) {
	var reply systemReply
	err := errors.Join(a.systemStores(ctx, &reply), a.systemDamage(ctx, &reply),
		a.systemFailures(ctx, &reply), a.systemCommands(ctx, &reply))
	return append(reply.Details, a.Warnings()...), err
}

// storeWarning describes the problem of a store: it does not answer, its disk is full (free space
// below LARDER_MIN_FREE, where uploads are refused), or nearly full (below twice that). The code of
// the result is "" for a store without a problem. A bucket has no free space to check.
func (a *API) storeWarning(status provider.StoreStatus) SystemWarning {
	warning := SystemWarning{Provider: status.Provider.Name}
	switch {
	case status.Err != nil:
		warning.Code = "store_unavailable"
		warning.Message = fmt.Sprintf(
			"The store of the provider %q does not answer, or can't be used. The log says why.", status.Provider.Name)
		return warning
	case status.Free >= 0 && status.Free < a.MinFree:
		warning.Code = "disk_full"
		warning.Message = fmt.Sprintf(
			"The disk of the provider %q is full: %d MiB are free. Uploads are refused until %d MiB "+
				"(LARDER_MIN_FREE) are free.", status.Provider.Name, status.Free>>20, a.MinFree>>20)
	case status.Free >= 0 && status.Free-a.MinFree < a.MinFree:
		warning.Code = "disk_nearly_full"
		warning.Message = fmt.Sprintf(
			"The disk of the provider %q is nearly full: %d MiB are free. Uploads are refused below %d MiB "+
				"(LARDER_MIN_FREE).", status.Provider.Name, status.Free>>20, a.MinFree>>20)
	}
	warning.FreeSpace, warning.MinFree = &status.Free, &a.MinFree
	return warning
}

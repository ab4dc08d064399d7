package app

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"larder/internal/backup"
	"larder/internal/db"
	"larder/internal/fsck"
	"larder/internal/job"
	"larder/internal/object"
	"larder/internal/quota"
)

const (
	// stateTimeout is the time for one reading of the state. Monitors often wait 10 seconds.
	stateTimeout = 5 * time.Second
	// stateBucketTimeout is the part of it that buckets get.
	stateBucketTimeout = 2 * time.Second
	// stateReplicaTime is how long a replica counts after it last reported.
	stateReplicaTime = time.Minute
	// maxCounted is the number of rows at which counting stops.
	maxCounted = 100_000
)

// describe returns the description of a metric with the names of its labels.
func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Metrics of the state, which all replicas read from the same database and stores.
var (
	databaseUp     = describe("larder_database_up", "1 if the state could be read from the database, else 0.")
	replicaCount   = describe("larder_replicas", "Replicas that reported in the last minute.")
	buildInfo      = describe("larder_build_info", "1, with the version and the engine of the database.", "version", "engine")
	jobCount       = describe("larder_jobs", "Jobs by status, ended ones of the last 30 days.", "status")
	failedJobs     = describe("larder_failed_jobs", "Jobs that the service could not complete in the last two days, by type.", "type")
	garbageObjects = describe("larder_garbage_objects", "Objects that wait to be deleted, counted up to 100000.")
	garbageBytes   = describe("larder_garbage_bytes", "Bytes of the objects that wait to be deleted and were the content of files.")
	damagedObjects = describe("larder_damaged_objects", "Objects that are marked as damaged; their files answer 500.")
	scrubProgress  = describe("larder_scrub_progress", "Part of the bytes that a pass of the scrub has read, 0 if none runs.")
	storedBytes    = describe("larder_stored_bytes", "Bytes of all files by the quotas of their owners.")
	storedFiles    = describe("larder_stored_files", "Files by the quotas of their owners.")
	accountCount   = describe("larder_accounts", "Accounts by the part of their storage limit that is used.", "storage")
	keptBytes      = describe("larder_kept_bytes", "Bytes in the trash and of versions.")
	commandEnded   = describe("larder_command_ended_timestamp_seconds",
		"When a command last ran to its end, in seconds since the Unix epoch.", "command")
	commandProblems = describe("larder_command_problems", "Problems that a command reported the last time.", "command")
	storeUp         = describe("larder_store_up", "1 if the store of a provider can be used, else 0.", "provider", "name")
	storeFree       = describe("larder_store_free_bytes", "Free bytes on the disk of a provider.", "provider", "name")
)

// stateCollector is a prometheus.Collector that reads the state of the installation from the
// database and the stores each time that it is asked.
type stateCollector struct{ app *App }

// Describe implements prometheus.Collector.
func (s *stateCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{databaseUp, replicaCount, buildInfo, jobCount, failedJobs, garbageObjects,
		garbageBytes, damagedObjects, scrubProgress, storedBytes, storedFiles, accountCount, keptBytes, commandEnded,
		commandProblems, storeUp, storeFree} {
		to <- d
	}
}

// Collect implements prometheus.Collector. It leaves out the metrics that it cannot read, and then
// larder_database_up is 0.
func (s *stateCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), stateTimeout)
	defer cancel()
	send := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	send(buildInfo, 1, s.app.deps.Version, string(s.app.DB.Dialect()))
	up := 1.0
	for _, part := range []func(context.Context, func(*prometheus.Desc, float64, ...string)) error{
		s.counts, s.failures, s.commands, s.stores} {
		if err := part(ctx, send); err != nil {
			up = 0
			s.app.deps.Log.Error("read the state for the metrics", "error", err)
		}
	}
	send(databaseUp, up)
}

// counts sends the metrics that are counted in the database: replicas, jobs, garbage, and the bytes
// and files of all quotas.
func (s *stateCollector) counts(ctx context.Context, send func(*prometheus.Desc, float64, ...string)) error {
	q := s.app.DB.Read(ctx)
	replicas, err := s.app.DB.Replicas(ctx, stateReplicaTime)
	if err != nil {
		return err
	}
	send(replicaCount, float64(len(replicas)))
	jobs, err := job.Count(q, maxCounted)
	if err != nil {
		return err
	}
	for status, n := range map[string]int64{job.Pending: jobs.Pending, job.Running: jobs.Running,
		job.Completed: jobs.Completed, job.Failed: jobs.Failed} {
		send(jobCount, float64(n), status)
	}
	objects, bytes, err := object.CountGarbage(q, maxCounted)
	if err != nil {
		return err
	}
	send(garbageObjects, float64(objects))
	send(garbageBytes, float64(bytes))
	damaged, err := object.CountDamaged(q)
	if err != nil {
		return err
	}
	send(damagedObjects, float64(damaged))
	percent, err := job.OpenProgress(q, fsck.ScrubJob)
	if err != nil {
		return err
	}
	send(scrubProgress, float64(percent)/100)
	stored, files, err := quota.Total(q)
	if err != nil {
		return err
	}
	send(storedBytes, float64(stored))
	send(storedFiles, float64(files))
	accounts, err := quota.CountByUse(q)
	if err != nil {
		return err
	}
	for use, n := range map[string]int64{"free": accounts.Free, "near": accounts.Near, "full": accounts.Full,
		"none": accounts.None, "unlimited": accounts.Unlimited} {
		send(accountCount, float64(n), use)
	}
	kept, err := quota.TotalKept(q)
	if err != nil {
		return err
	}
	send(keptBytes, float64(kept))
	return nil
}

// failures sends the numbers of failed jobs, 0 for a type without any.
func (s *stateCollector) failures(ctx context.Context, send func(*prometheus.Desc, float64, ...string)) error {
	found, err := job.CountFailures(s.app.DB.Read(ctx), s.app.deps.Now().UnixMilli(), maxCounted)
	if err != nil {
		return err
	}
	failed := map[string]int64{} // by type, also of types that only a newer replica knows
	for _, runner := range []*job.Runner{s.app.Jobs, s.app.MailJobs, s.app.ScrubJobs} {
		for _, jobType := range runner.Types() {
			failed[jobType] = 0
		}
	}
	for _, f := range found {
		failed[f.Type] = f.Jobs
	}
	for jobType, n := range failed {
		send(failedJobs, float64(n), jobType)
	}
	return nil
}

// commands sends when backup and fsck last ended, and with how many problems. A command that never
// ran has no metric.
func (s *stateCollector) commands(ctx context.Context, send func(*prometheus.Desc, float64, ...string)) error {
	for _, command := range []string{backup.Command, fsck.Command, fsck.ScrubCommand} {
		last, err := db.LastCommandResult(s.app.DB.Read(ctx), command)
		if errors.Is(err, db.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		send(commandEnded, float64(last.EndedAt)/1000, command)
		send(commandProblems, float64(last.Problems), command)
	}
	return nil
}

// stores sends for each provider whether its store can be used, and the free bytes of its disk.
func (s *stateCollector) stores(ctx context.Context, send func(*prometheus.Desc, float64, ...string)) error {
	statuses, err := s.app.Providers.StoreStatuses(ctx, stateBucketTimeout)
	if err != nil {
		return err
	}
	for _, status := range statuses {
		up := 1.0
		if status.Err != nil {
			up = 0
		}
		send(storeUp, up, status.Provider.ID, status.Provider.Name)
		if status.Free >= 0 {
			send(storeFree, float64(status.Free), status.Provider.ID, status.Provider.Name)
		}
	}
	return nil
}

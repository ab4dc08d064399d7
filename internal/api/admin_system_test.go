package api_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/backup"
	"larder/internal/blob/s3/s3test"
	"larder/internal/config"
	"larder/internal/db"
	"larder/internal/fsck"
	"larder/internal/kv/kvtest"
	"larder/internal/secret"
)

// systemWarnings returns the warnings of the system page.
func systemWarnings(c *apptest.Client) string {
	return fmt.Sprint(c.Get("/api/admin/system").OK(200).Value("warnings"))
}

// wantWarning checks that the system page has one warning, and that its details are the wanted
// fields beside the sentence.
func wantWarning(t *testing.T, c *apptest.Client, words string, fields M) {
	t.Helper()
	reply := c.Get("/api/admin/system").OK(200)
	details := reply.Value("warningDetails").([]any)
	if len(details) != 1 || !strings.Contains(fmt.Sprint(details), words) {
		t.Fatalf("details: %v", details)
	}
	detail := details[0].(map[string]any)
	wantJSON(t, "warnings", reply.Value("warnings"), []any{detail["message"]})
	delete(detail, "message")
	wantJSON(t, "details", detail, fields)
}

// Addition: GET /api/admin/system.
func TestSystem(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		wantStatus(t, "a user", alice.Get("/api/admin/system"), 403, "FORBIDDEN")
		system := func() *apptest.Reply { return admin.Get("/api/admin/system").OK(200) }

		var reply *apptest.Reply
		waitUntil(t, "the disk answers in time", func() bool {
			reply = system()
			return reply.Text("stores.0.status") == "ok"
		})
		wantFields(t, "data", reply.Object()["data"], "version", "replicas", "database", "stores", "jobs",
			"garbage", "caches", "lastBackup", "lastFsck", "lastScrub", "damagedObjects", "warnings",
			"warningDetails", "baseUrl")
		newest, err := db.SchemaVersion()
		if err != nil {
			t.Fatal(err)
		}
		engine := "sqlite"
		if len(l.Apps) > 1 {
			engine = "postgres"
		}
		wantJSON(t, "version", reply.Value("version"), "1.2.3-test")
		wantJSON(t, "the base URL", reply.Value("baseUrl"), apptest.BaseURL)
		wantJSON(t, "replicas", len(reply.Value("replicas").([]any)), len(l.Apps))
		ids := map[any]bool{}
		for _, value := range reply.Value("replicas").([]any) {
			wantFields(t, "a replica", value, "id", "version", "schemaVersion", "seenAt")
			r := value.(map[string]any)
			ids[r["id"]] = true
			wantJSON(t, "a replica", M{"version": r["version"], "schemaVersion": r["schemaVersion"],
				"seenAt": r["seenAt"]},
				M{"version": "1.2.3-test", "schemaVersion": newest, "seenAt": l.Clock.Now().UnixMilli()})
		}
		wantJSON(t, "their ids", len(ids), len(l.Apps))
		wantJSON(t, "database", reply.Value("database"),
			M{"engine": engine, "schemaVersion": newest, "reachable": true})
		wantJSON(t, "jobs", reply.Value("jobs"), M{"pending": 0, "running": 0, "completed": 0, "failed": 0})
		wantJSON(t, "garbage", reply.Value("garbage"), M{"objects": 0, "bytes": 0})
		wantJSON(t, "caches", reply.Value("caches"), M{"thumbnails": M{"files": 0, "bytes": 0}})
		wantJSON(t, "the last backup", reply.Value("lastBackup"), nil)
		wantJSON(t, "the last check", reply.Value("lastFsck"), nil)
		wantJSON(t, "warnings", reply.Value("warnings"), []string{})
		wantJSON(t, "their details", reply.Value("warningDetails"), []string{})
		wantJSON(t, "stores", len(reply.Value("stores").([]any)), 1)
		store := reply.Value("stores").([]any)[0]
		wantFields(t, "a store", store, "providerId", "name", "type", "status", "latencyMs", "freeSpace")
		if s := store.(map[string]any); s["name"] != "local" || s["type"] != "store_a" || s["status"] != "ok" ||
			s["latencyMs"] == nil || s["freeSpace"] == nil {
			t.Errorf("the store of the first start: %v", s)
		}

		mkdir(alice, "/home/alice", "d")
		moved, gone := alice.Upload("/home/alice", "a.txt", []byte("a")), alice.Upload("/home/alice", "b.txt",
			[]byte("b"))
		alice.Post("/api/files/"+moved+"/move", M{"targetPath": "/home/alice/d"}).OK(200)
		alice.Delete("/api/files/" + gone).OK(200)
		l.Sweep()
		if _, err := l.Apps[0].Fsck.Check(t.Context(),
			fsck.Options{Report: func(f fsck.Finding) { t.Error(f.Text) }}); err != nil {
			t.Fatal(err)
		}
		now := l.Clock.Now().UnixMilli()
		options := backup.Options{Dir: filepath.Join(t.TempDir(), "backup"), Keep: 1}
		if _, err := l.Apps[0].Backup(t.Context(), "", options); err != nil {
			t.Fatal(err)
		}
		reply = system()
		wantJSON(t, "jobs", reply.Value("jobs"), M{"pending": 0, "running": 0, "completed": 1, "failed": 0})
		wantJSON(t, "garbage", reply.Value("garbage"), M{"objects": 1, "bytes": 1})
		wantJSON(t, "the last backup", reply.Value("lastBackup"), M{"endedAt": now, "problems": 0})
		wantJSON(t, "the last check", reply.Value("lastFsck"), M{"endedAt": now, "problems": 0})
	})
}

// Replicas are listed while they are seen: those that are silent for a minute are not.
func TestSystemListsReplicas(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		listed := func() int { return len(admin.Get("/api/admin/system").OK(200).Value("replicas").([]any)) }
		l.Clock.Advance(time.Minute - time.Millisecond)
		wantJSON(t, "after a minute but for a moment", listed(), len(l.Apps))
		l.Clock.Advance(time.Millisecond)
		wantJSON(t, "after a minute", listed(), 0)
		l.Sweep() // by the first of them
		wantJSON(t, "when one is seen again", listed(), 1)
	})
}

// A hanging store delays the page only for a moment and is reported as a warning.
func TestSystemWithAStoreThatHangs(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, store, proxy := l.Admin(t), &countingStore{}, s3test.NewProxy(t, s3test.New(t))
		proxy.SetBefore(store.intercept)
		t.Cleanup(func() { store.setHanging(false) })
		store.setHanging(true)
		addBucketProvider(admin, proxy.Bucket(), M{"name": "far away"})
		var far map[string]any
		waitUntil(t, "the disk answers in time", func() (ok bool) {
			for _, value := range admin.Get("/api/admin/system").OK(200).Value("stores").([]any) {
				switch s := value.(map[string]any); s["name"] {
				case "local":
					ok = s["status"] == "ok"
				case "far away":
					far = s
				}
			}
			return ok
		})
		if far["status"] != "unavailable" || far["latencyMs"] != nil || far["freeSpace"] != nil {
			t.Error(far)
		}
		wantWarning(t, admin, `"far away" does not answer`, M{"code": "store_unavailable", "provider": "far away"})
		store.setHanging(false)
		// a check that still hangs fails first
		waitUntil(t, "no warning", func() bool { return systemWarnings(admin) == "[]" })
	}, apptest.ReachLoopback)
}

func TestSystemWarnsOfLittleSpace(t *testing.T) {
	t.Parallel()
	var disk syscall.Statfs_t
	if err := syscall.Statfs(t.TempDir(), &disk); err != nil {
		t.Fatal(err)
	}
	free := int64(disk.Bavail) * int64(disk.Bsize)
	for code, test := range map[string]struct {
		words string
		least int64
	}{"disk_full": {"is full", 1 << 60}, "disk_nearly_full": {"is nearly full", free / 4 * 3}} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.MinFree = test.least })
			admin := l.Admin(t)
			// other processes use the disk too, so the figure differs from call to call
			told := admin.Get("/api/admin/system").OK(200).Value("warningDetails.0").(map[string]any)
			left, err := told["freeSpace"].(json.Number).Int64()
			if err != nil || left < free/2 || left > free/2*3 {
				t.Errorf("with %d bytes free: %v", free, told)
			}
			if sentence := fmt.Sprint(told["message"]); !strings.Contains(sentence, test.words) {
				t.Errorf("with a floor of %d of %d: %s", test.least, free, sentence)
			}
			delete(told, "freeSpace")
			delete(told, "message")
			wantJSON(t, "details", told, M{"code": code, "provider": "local", "minFree": test.least})
		})
	}
	l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.MinFree = 1 })
	wantJSON(t, "with enough space", systemWarnings(l.Admin(t)), "[]")
}

// The page warns of the last backup when it is more than two days old, and of problems that the
// last backup or check reported; a run without problems ends the warning.
func TestSystemWarnsOfBackupsAndChecks(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	record := func(command string, problems int64) (ended int64) {
		t.Helper()
		ended = l.Clock.Now().UnixMilli()
		err := l.Apps[0].DB.Write(t.Context(), func(tx *db.Tx) error {
			return tx.SetCommandResult(command, db.CommandResult{EndedAt: ended, Problems: problems})
		})
		if err != nil {
			t.Fatal(err)
		}
		return ended
	}
	for _, command := range []string{"fsck", "backup"} {
		record(command, 3)
		wantWarning(t, admin, "`larder "+command+"` reported: 3.", M{"code": command + "_problems", "problems": 3})
		record(command, 0)
		wantJSON(t, "warnings after a run of "+command+" without problems", systemWarnings(admin), "[]")
	}
	ended := record("backup", 0)
	l.Clock.Advance(48*time.Hour - time.Minute)
	admin = l.Admin(t)
	wantJSON(t, "warnings after nearly two days", systemWarnings(admin), "[]")
	l.Clock.Advance(time.Minute)
	wantWarning(t, admin, "The last backup ended at ", M{"code": "backup_old", "endedAt": ended})
	record("backup", 0)
	wantJSON(t, "warnings after a new backup", systemWarnings(admin), "[]")
}

func TestSystemWarnsOfReplacedAccessLog(t *testing.T) {
	t.Parallel()
	var file string
	l := apptest.Start(t, "sqlite", func(cfg *config.Config) {
		file = cfg.AuditFile()
		if err := os.WriteFile(file, []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	found, err := filepath.Glob(file + ".malformed-*")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	wantWarning(t, l.Admin(t), found[0], M{"code": "access_log_replaced", "file": found[0]})
}

// The server looks whether it can read the backup from which its scrub heals.
func TestSystemWarnsOfMissingScrubBackup(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backup")
	l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.ScrubBackup = dir })
	admin := l.Admin(t)
	l.Sweep()
	wantWarning(t, admin, "The backup of LARDER_SCRUB_BACKUP can't be read", M{"code": "scrub_backup_missing"})
	if !strings.Contains(l.Log.String(), "there is no backup in "+dir) {
		t.Error("the log does not name the missing backup")
	}
	if _, err := l.Apps[0].Backup(t.Context(), "test", backup.Options{Dir: dir, Keep: 1}); err != nil {
		t.Fatal(err)
	}
	l.Sweep()
	wantJSON(t, "warnings after a backup", systemWarnings(admin), "[]")
}

func TestSystemWarnsOfLimitsThatAreNotShared(t *testing.T) {
	t.Parallel()
	server := kvtest.StartServer(t)
	l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.RedisURL = secret.Text(server.URL) })
	admin := l.Admin(t)
	wantJSON(t, "warnings while Redis answers", systemWarnings(admin), "[]")
	server.Stop()
	wantWarning(t, admin, "Redis does not answer", M{"code": "limits_not_shared"})
	ready := l.Client(t).Get("/api/public/health/ready")
	wantJSON(t, "readiness without Redis", ready.Object(), M{"service": "larder", "status": "degraded", "ready": true,
		"detail": "degraded: each replica counts rate limits by itself"})
	if ready.Status != 200 {
		t.Errorf("readiness without Redis answers %d", ready.Status)
	}
}

// The page warns for two days of jobs that the service could not complete, and not of those that
// failed because of their request. SystemWarnings counts the failed jobs of a type together.
func TestSystemWarnsOfFailedJobs(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		now := l.Clock.Now().UnixMilli()
		insert := func(id, jobType, status string, endedAt int64, attempts int) {
			t.Helper()
			err := l.Apps[0].DB.Write(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(`
					INSERT INTO jobs (id, type, owner_id, status, progress, created_at, completed_at, attempts)
					VALUES ($1, $2, 'u', $3, 0, 1, $4, $5)`, id, jobType, status, endedAt, attempts)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		insert("refused", "move", "failed", now, 0)
		insert("done", "move", "completed", now, 12)
		insert("old", "move", "failed", now-48*3_600_000, 12)
		wantJSON(t, "warnings without failed jobs", systemWarnings(admin), "[]")
		insert("first", "move", "failed", now-1000, 12)
		insert("second", "move", "failed", now, 12)
		wantWarning(t, admin, `Jobs of the type "move" that failed in the last two days: 2, the first at `,
			M{"code": "jobs_failed", "jobType": "move", "jobs": 2, "since": now - 1000})
		l.Clock.Advance(48 * time.Hour)
		wantJSON(t, "warnings two days later", systemWarnings(l.Admin(t)), "[]")
	})
}

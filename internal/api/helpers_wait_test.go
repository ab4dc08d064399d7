package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"larder/internal/apptest"
)

// waitUntil waits at most a minute for a condition, which what names.
func waitUntil(t testing.TB, what string, met func() bool) {
	t.Helper()
	for deadline := time.After(time.Minute); !met(); {
		select {
		case <-deadline:
			t.Fatalf("the condition did not hold within a minute: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// waitForJob waits until a job has ended, whose progress must never fall. It returns the answer
// that shows the end.
func waitForJob(t *testing.T, c *apptest.Client, id string) (end *apptest.Reply) {
	t.Helper()
	progress := int64(0)
	waitUntil(t, "the end of job "+id, func() bool {
		end = c.Get("/api/files/jobs/" + id).OK(200)
		if end.Int("job.progress") < progress {
			t.Errorf("progress fell from %d to %d", progress, end.Int("job.progress"))
		}
		progress = end.Int("job.progress")
		return jobEnded(end.Text("job.status"))
	})
	return end
}

// waitForJobRow waits until a job has ended whose owner can no longer ask for it.
func waitForJobRow(t *testing.T, l *apptest.Larder, id string) (status, message string) {
	t.Helper()
	waitUntil(t, "the end of job "+id, func() bool {
		err := l.Apps[0].DB.Read(t.Context()).
			QueryRow("SELECT status, COALESCE(error_message, '') FROM jobs WHERE id = $1", id).Scan(&status, &message)
		if err != nil {
			t.Fatal(err)
		}
		return jobEnded(status)
	})
	return status, message
}

func jobEnded(status string) bool { return status == "completed" || status == "failed" }

// waitForMails waits until no job that sends a mail is left. Such jobs are deleted when they end.
func waitForMails(t *testing.T, l *apptest.Larder) {
	t.Helper()
	waitUntil(t, "all mails are sent", func() bool {
		return queryInt(t, l, "SELECT COUNT(*) FROM jobs WHERE type IN ('reset-mail', 'verify-mail', "+
			"'resend-mail')") == 0
	})
}

// waitForHandover waits until no deleted account owns anything.
func waitForHandover(t *testing.T, l *apptest.Larder) {
	t.Helper()
	waitUntil(t, "everything is handed over", func() bool {
		return queryInt(t, l, "SELECT COUNT(*) FROM "+
			"legacies") == 0
	})
}

// waitForChecksum waits until the only object of files has a checksum, and compares it with that of
// content.
func waitForChecksum(t *testing.T, l *apptest.Larder, content string) {
	t.Helper()
	var got *string
	waitUntil(t, "a checksum is filled in", func() bool {
		if err := l.Apps[0].DB.Read(t.Context()).QueryRow("SELECT sha256 FROM objects").Scan(&got); err != nil {
			t.Fatal(err)
		}
		return got != nil
	})
	sum := sha256.Sum256([]byte(content))
	if want := hex.EncodeToString(sum[:]); *got != want {
		t.Errorf("checksum %s, want %s", *got, want)
	}
}

package e2e

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"larder/internal/thumb/thumbtest"
)

// withStandIn starts a server with a compromised vipsthumbnail, and returns the attacks for it: on
// all files of the data directory and on the server itself.
func withStandIn(t *testing.T, s *site, wrapper ...string) (*process, thumbtest.Attacks) {
	t.Helper()
	dir := t.TempDir()
	if _, err := thumbtest.FakeVips(dir); err != nil {
		t.Fatal(err)
	}
	s.env["PATH"] = dir
	p := s.start(t, wrapper...)
	address, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		t.Fatal(err)
	}
	orders := thumbtest.Attacks{Parent: p.cmd.Process.Pid, TCP: port, UDP: port, Unix: filepath.Join(s.dir, "socket"),
		Socket: "larder", List: []string{s.dir}}
	err = filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			orders.Read, orders.Write = append(orders.Read, path), append(orders.Write, path)
		}
		return err
	})
	if err != nil || len(orders.Read) < 2 {
		t.Fatalf("key and database are not among %v: %v", orders.Read, err)
	}
	return p, orders
}

// A compromised picture decoder reaches nothing of the running server, and ends with it.
func TestDecoderTakenOver(t *testing.T) {
	t.Parallel()
	p, orders := withStandIn(t, newSite(t))
	admin, key := p.admin(t), withKey(p.site.key(t, "admin"), p.url)
	thumbnail := func(name string, orders thumbtest.Attacks) string {
		picture := thumbtest.WithAttacks(thumbtest.PNG(thumbtest.Quarters(64, 48)), orders)
		return "/api/files/" + key.mustRaw(t, name, "", "image/png", picture).FileID + "/thumbnail?size=160"
	}
	outcome, err := thumbtest.Outcome(admin.do(t, "GET", thumbnail("attempts", orders), nil).want(t, 200).body)
	if err != nil || len(outcome) < 60 {
		t.Fatalf("%v, %v", outcome, err)
	}
	for attempt, errno := range outcome {
		if errno == "" && attempt != "kill itself" || strings.HasPrefix(attempt, "read ") && errno != "EACCES" {
			t.Errorf("%s: %q", attempt, errno)
		}
	}
	if strings.Contains(p.stderr.String(), "no Landlock") {
		t.Error("the log says that there is no Landlock")
	}

	orders.WaitForKill = true
	address := thumbnail("stays", orders)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_, _ = admin.send("GET", address, nil) // the server is killed during the request
	}()
	child := 0
	p.await(t, "decoding", func() bool {
		drafts, err := filepath.Glob(filepath.Join(p.site.dir, "cache", "thumbs", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, draft := range drafts {
			if text, err := os.ReadFile(draft); err == nil && strings.HasSuffix(string(text), "\n") {
				child, _ = strconv.Atoi(strings.TrimSpace(string(text)))
			}
		}
		return child != 0
	})
	p.kill()
	<-asked
	after := newSite(t).start(t)
	after.await(t, fmt.Sprintf("rid of process %d", child), func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", child))
		return err != nil || strings.Contains(string(status), "State:\tZ")
	})
}

// Without Landlock in the kernel thumbnails are made, and the log mentions it once.
func TestNoLandlockIsLogged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.start(t, thumbtest.WithoutLandlock(unix.EOPNOTSUPP)...)
	admin, key := p.admin(t), withKey(s.key(t, "admin"), p.url)
	for i := range 3 {
		r := admin.do(t, "GET", "/api/files/"+key.mustRaw(t, fmt.Sprint(i), "", "image/png", photograph(t)).FileID+
			"/thumbnail?size=160", nil)
		if got := decodedSize(t, r); got != "webp 160x120" {
			t.Errorf("%q", got)
		}
	}
	if said := strings.Count(p.stderr.String(), "no Landlock"); said != 1 {
		t.Errorf("the log says it %d times", said)
	}
}

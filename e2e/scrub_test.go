package e2e

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"larder/internal/db/dbtest"
)

// scrubPoints are the crash points of a scrub, see TestScrubCommand.
var scrubPoints = []string{"heal.noted", "heal.copied", "heal.switched", "scrub.marked"}

// `larder scrub --now` beside a server marks a lost object, whose file answers 500 until the object
// is healed from a backup. A kill at each crash point leaves a service in order, and the command
// completes the work when it is repeated.
func TestScrubCommand(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s, _, keyed := startCrashing(t, engine)
			contents := map[string][]byte{}
			for i, point := range scrubPoints {
				content := fmt.Appendf(nil, "content %d", i)
				contents["/uploads/"+point] = content
				keyed.mustRaw(t, point, "", "text/plain", content)
			}
			dir := filepath.Join(t.TempDir(), "backup")
			s.mustRun(t, "backup", dir)
			s.wantRun(t, 2, []string{"scrub"}, "--now")
			if said := s.mustRun(t, "scrub", "--now"); !strings.Contains(said, "Read 4 objects") {
				t.Errorf("the command said %s", said)
			}
			s.wantRun(t, 1, []string{"scrub", "--now", "--from", t.TempDir()}, "there is no backup in")

			for _, point := range scrubPoints {
				path := "/uploads/" + point
				s.loseObject(t, contents[path])
				args := []string{"scrub", "--now"}
				if point != "scrub.marked" {
					args = append(args, "--from", dir)
				}
				s.runUntilCrash(t, point, args...)
				switch point {
				case "heal.switched":
					s.mustRun(t, "scrub", "--now", "--from", dir)
				case "scrub.marked":
					r := keyed.do(t, "GET", path, nil).want(t, 500)
					if !strings.Contains(string(r.body), "This file is damaged in its storage.") {
						t.Errorf("%s: %s", path, r.body)
					}
					s.wantRun(t, 1, []string{"scrub", "--now"}, path, "marked as damaged", "1 damaged: 0 healed, 1 marked.")
					fallthrough
				default:
					s.wantRun(t, 1, []string{"scrub", "--now", "--from", dir}, path, "healed", "1 damaged: 1 healed, 0 marked.")
				}
				if r := keyed.do(t, "GET", path, nil).want(t, 200); !bytes.Equal(r.body, contents[path]) {
					t.Errorf("%s is %q", path, r.body)
				}
			}
			s.mustRun(t, "scrub", "--now")
			s.fsck(t)
		})
	}
}

// A scrub reads each object from the disk: the pages in memory may be intact when the disk no
// longer is. It also reads a damaged object anew before it marks it, and leaves no pages behind.
func TestScrubReadsTheDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.env["LARDER_SCRUB_RATE"] = "0"
	p := s.start(t)
	content := []byte("a content of one page")
	withKey(s.key(t, "admin"), p.url).mustRaw(t, "a.txt", "", "text/plain", content)
	p.stop(t)
	objects := leftBelow(t, s.objectDir())
	if len(objects) != 1 {
		t.Fatalf("stored are %q", objects)
	}
	for _, c := range []struct {
		content string
		code    int
		want    string
	}{
		{string(content), 0, "drop read drop"},
		{"A content of one page", 1, "drop read drop drop read drop"},
	} {
		writeFile(t, []byte(c.content), filepath.Dir(objects[0]), filepath.Base(objects[0]))
		trace := filepath.Join(t.TempDir(), "trace")
		cmd := exec.Command("strace", "-f", "-q", "-y", "-e", "trace=read,fadvise64", "-o", trace, s.binary(), "scrub",
			"--now")
		cmd.Env = s.environ()
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != c.code {
			t.Fatalf("exit code %d, want %d: %s", cmd.ProcessState.ExitCode(), c.code, out)
		}
		text, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		var steps []string
		for _, call := range parseTrace(string(text)) {
			if call.file() != objects[0] {
				continue
			}
			step := "read"
			if call.name == "fadvise64" {
				if step = "drop"; call.failed() || !strings.HasSuffix(call.args, ", 0, 0, POSIX_FADV_DONTNEED") {
					t.Errorf("%s(%s) = %d", call.name, call.args, call.result)
				}
			}
			if len(steps) == 0 || step != "read" || steps[len(steps)-1] != step { // several reads are one
				steps = append(steps, step)
			}
		}
		if got := strings.Join(steps, " "); got != c.want {
			t.Errorf("content %q: %s, want %s", c.content, got, c.want)
		}
	}
}

// loseObject removes the object with a content from the disk.
func (s *site) loseObject(t *testing.T, content []byte) {
	t.Helper()
	removed := 0
	dir := cmp.Or(s.env["LARDER_OBJECT_DIR"], filepath.Join(s.dir, "objects"))
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		stored, err := os.ReadFile(path)
		if err == nil && bytes.Equal(stored, content) {
			removed++
			err = os.Remove(path)
		}
		return err
	})
	if err != nil || removed != 1 {
		t.Fatalf("%d objects with the content %q were removed (%v)", removed, content, err)
	}
}

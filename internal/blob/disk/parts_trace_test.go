package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
)

const (
	partsVar   = "DISK_TEST_PARTS" // when set, the helper puts an upload of one part, and that part twice
	traceParts = 600_000           // bytes of that part
)

// putParts is the task of the helper with partsVar.
func putParts(s *Store) error {
	ctx := context.Background()
	u, err := s.Begin(ctx, traceKey, traceParts, traceParts, "")
	if err != nil {
		return err
	}
	for range 2 {
		if _, err := s.PutPart(ctx, u, 1, io.LimitReader(zeros{}, traceParts)); err != nil {
			return err
		}
	}
	_, err = blobtest.FinishListed(ctx, s, u)
	return err
}

func runPartsHelper(t *testing.T, dir string, strace ...string) string {
	t.Helper()
	cmd := helperCommand(t, dir, "-", strace...)
	cmd.Env = append(cmd.Env, partsVar+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("helper: %v\n%s", err, out)
	}
	return string(out)
}

func TestPartIsSyncedBeforeItsLineAndDroppedBeforeItIsOverwritten(t *testing.T) {
	t.Parallel()
	_, dir := newStore(t)
	trace := filepath.Join(t.TempDir(), "trace")
	if result := runPartsHelper(t, dir, "-y", "-o", trace, "-e",
		"trace=write,pwrite64,fsync,renameat2,unlinkat"); !strings.HasPrefix(result, "stored;") {
		t.Fatalf("helper: %s", result)
	}
	quoted := regexp.QuoteMeta(dir)
	const name = `00112233445566778899aabbccddeeff\.bin`
	symbols := []struct{ what, pattern string }{
		{"begun", `^pwrite64\(\d+<.*-journal>, "larder parts 1 0a/00`},
		{"line", `^pwrite64\(\d+<.*-journal>, "0000000001 [0-9a-f]`},
		{"drop", `^pwrite64\(\d+<.*-journal>, "0000000001  `},
		{"sync journal", `^fsync\(\d+<` + quoted + `/tmp/parts/` + name + `-journal>\) += 0$`},
		{"bytes", `^write\(\d+<` + quoted + `/tmp/parts/` + name + `>`},
		{"sync bytes", `^fsync\(\d+<` + quoted + `/tmp/parts/` + name + `>\) += 0$`},
		{"sync root", `^fsync\(\d+<` + quoted + `>\) += 0$`},
		{"sync tmp", `^fsync\(\d+<` + quoted + `/tmp>\) += 0$`},
		{"sync parts", `^fsync\(\d+<` + quoted + `/tmp/parts>\) += 0$`},
		{"rename", `^renameat2\(.*/tmp/parts>, "` + name + `", \d+<` + quoted + `/0a>, "` + name +
			`", RENAME_NOREPLACE\) += 0$`},
		{"sync directory", `^fsync\(\d+<` + quoted + `/0a>\) += 0$`},
		{"remove journal", `^unlinkat\(.*/tmp/parts>, "` + name + `-journal", 0\) += 0$`},
		{"answered", `^write\(1<.*"stored;`},
	}
	var got []string
	for _, c := range readTrace(t, trace) {
		for _, s := range symbols {
			if regexp.MustCompile(s.pattern).MatchString(c.text) && (len(got) == 0 || got[len(got)-1] != s.what) {
				got = append(got, s.what)
			}
		}
	}
	want := []string{
		"sync root", "sync tmp", "begun", "sync journal", "sync parts",
		"bytes", "sync bytes", "line", "sync journal",
		"drop", "sync journal", "bytes", "sync bytes", "line", "sync journal",
		"sync bytes", "sync root", "rename", "sync directory", "remove journal", "sync parts", "answered",
	}
	if !slices.Equal(got, want) {
		t.Errorf("order of system calls:\n%q\nwant\n%q", got, want)
	}
}

func TestFailingSystemCallWhileAnUploadComesInParts(t *testing.T) { // abuse case C128
	t.Parallel()
	faults := []string{"fcntl:error=ENOLCK:when=1+", "renameat2,linkat:error=EIO", "unlinkat:error=EIO",
		"mkdirat:error=ENOSPC"}
	// faults after the part was stored
	finishing := []string{"renameat2,linkat:error=EIO", "unlinkat:error=EIO"}
	for n := 1; n <= 13; n++ { // as many as the previous test finds
		faults = append(faults, fmt.Sprintf("fsync:error=EIO:when=%d", n))
		if n >= 10 {
			finishing = append(finishing, faults[len(faults)-1])
		}
	}
	for n := 1; n <= 4; n++ {
		faults = append(faults, fmt.Sprintf("pwrite64:error=ENOSPC:when=%d", n))
	}
	for n := 1; n <= 6; n++ {
		faults = append(faults, fmt.Sprintf("write:error=EIO:when=%d", n))
	}
	for _, fault := range faults {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			s, dir := newStore(t)
			trace := filepath.Join(t.TempDir(), "trace")
			calls, _, _ := strings.Cut(fault, ":")
			args := []string{"-y", "-o", trace, "-e", "trace=" + calls + ",fsync", "-e", "inject=" + fault}
			if calls == "fcntl" { // the Go runtime makes such calls on other files
				args = append(args, "-P", filepath.Join(dir, partsPath, "00112233445566778899aabbccddeeff.bin"))
			}
			result := runPartsHelper(t, dir, args...)
			injected, err := os.ReadFile(trace)
			if err != nil || !bytes.Contains(injected, []byte("(INJECTED)")) {
				t.Fatalf("nothing was injected: %v\n%s", err, injected)
			}
			want := "object store unavailable;"
			if strings.Contains(fault, "ENOSPC") {
				want = "no space in object store;"
			}
			if !strings.HasPrefix(result, want) {
				t.Errorf("helper says %s, want %s", result, want)
			}
			for fd, n := range failedSyncs(injected) {
				if n > 1 {
					t.Errorf("fsync of %s was tried %d times after it had failed", fd, n)
				}
			}
			u := blob.Upload{Key: traceKey, Size: traceParts, PartSize: traceParts}
			if slices.Contains(finishing, fault) { // the acknowledged part still exists
				mustFinish(t, s, u, make([]byte, traceParts))
			}
			if err := putParts(s); err != nil && !errors.Is(err, blob.ErrExists) {
				t.Errorf("once the fault is over: %v", err)
			}
			mustFinish(t, s, u, make([]byte, traceParts))
			blobtest.WantAbsent(t, s, blobtest.NewKey())
			wantNoTempFiles(t, dir)
		})
	}
}

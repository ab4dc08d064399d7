package disk

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"larder/internal/blob"
)

// The tests below run this test binary again as a small process that puts one object. They examine
// its system calls with strace, or make strace inject a failure into one of them.

const (
	helperVar = "DISK_TEST_HELPER" // directory of the store; set only in the helper process
	sizeVar   = "DISK_TEST_SIZE"   // bytes to put, - for standard input
	traceKey  = blob.Key("0a/00112233445566778899aabbccddeeff.bin")
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperVar); dir != "" {
		os.Exit(helper(dir, os.Getenv(sizeVar)))
	}
	os.Exit(m.Run())
}

// helper puts one object and prints the result and the bytes allocated.
func helper(dir, size string) int {
	runtime.LockOSThread() // strace counts calls by thread
	s, err := Open(dir, storeID, Options{Now: fixedClock})
	if err != nil {
		fmt.Println("open:", err)
		return 1
	}
	body, opts := io.Reader(os.Stdin), blob.PutOptions{Size: -1, Max: -1}
	if size != "-" {
		if opts.Size, err = strconv.ParseInt(size, 10, 64); err != nil {
			fmt.Println("size:", err)
			return 1
		}
		body = io.LimitReader(zeros{}, opts.Size)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if os.Getenv(partsVar) != "" {
		err = putParts(s)
	} else {
		_, err = s.Put(context.Background(), traceKey, body, opts)
	}
	runtime.ReadMemStats(&after)
	result := "stored"
	for _, known := range []error{blob.ErrUnavailable, blob.ErrNoSpace, blob.ErrExists} {
		if errors.Is(err, known) {
			result = known.Error()
		}
	}
	if result == "stored" && err != nil {
		result = "other error"
	}
	fmt.Printf("%s; %d bytes allocated; %v\n", result, after.TotalAlloc-before.TotalAlloc, err)
	return 0
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// helperCommand returns the command of the helper, under strace when arguments for it are given.
func helperCommand(t *testing.T, dir, size string, strace ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := []string{self}
	if len(strace) > 0 {
		path, err := exec.LookPath("strace")
		if err != nil {
			t.Fatalf(
				"strace is missing: these tests look at system calls; install the package strace (make test does): %v",
				err)
		}
		command = slices.Concat([]string{path, "-f", "-qq"}, strace, command)
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), helperVar+"="+dir, sizeVar+"="+size, "GORACE=atexit_sleep_ms=0")
	return cmd
}

func runHelper(t *testing.T, dir, size string, strace ...string) (result string) {
	t.Helper()
	out, err := helperCommand(t, dir, size, strace...).CombinedOutput()
	if err != nil {
		t.Fatalf("helper: %v\n%s", err, out)
	}
	return string(out)
}

// call is one system call of a trace.
type call struct {
	text       string // name, arguments, result; descriptors with their paths
	begun, end int    // lines of the trace
}

var traceLine = regexp.MustCompile(`^(\d+) +(?:<\.\.\. \w+ resumed>)?(.*)$`)

// readTrace joins the calls that strace shows in two parts.
func readTrace(t *testing.T, path string) (calls []call) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]call{}
	scanner, line := bufio.NewScanner(bytes.NewReader(content)), 0
	for scanner.Scan() {
		line++
		m := traceLine.FindStringSubmatch(scanner.Text())
		if m == nil {
			t.Fatalf("unknown line of the trace: %s", scanner.Text())
		}
		thread, text := m[1], m[2]
		c, resumed := open[thread]
		if !resumed {
			c.begun = line
		}
		c.text += strings.TrimSuffix(text, " <unfinished ...>")
		if strings.HasSuffix(text, " <unfinished ...>") {
			open[thread] = c
			continue
		}
		delete(open, thread)
		c.end = line
		calls = append(calls, c)
	}
	slices.SortFunc(calls, func(a, b call) int { return cmp.Compare(a.begun, b.begun) })
	return calls
}

// abuse case C128, and the order of steps that durability requires
func TestPutSyncsFileThenNameThenDirectory(t *testing.T) {
	t.Parallel()
	for _, size := range []string{"20000", "1000000"} {
		t.Run(size+"_bytes", func(t *testing.T) {
			t.Parallel()
			_, dir := newStore(t)
			trace := filepath.Join(t.TempDir(), "trace")
			result := runHelper(t, dir, size, "-y", "-o", trace, "-e",
				"trace=openat,write,fsync,fdatasync,rename,renameat,renameat2,mkdirat")
			if !strings.HasPrefix(result, "stored;") {
				t.Fatalf("helper: %s", result)
			}
			quoted := regexp.QuoteMeta(dir)
			const tmp = `/tmp/00112233445566778899aabbccddeeff\.bin-0`
			order := []struct{ what, pattern string }{
				{"temporary file made", `^openat\(\d+<` + quoted +
					`/tmp>, "00112233445566778899aabbccddeeff\.bin-0", O_WRONLY\|O_CREAT\|O_EXCL\|O_NOFOLLOW\|O_CLOEXEC, 0600\) += `},
				{"last byte written", `^write\(\d+<` + quoted + tmp + `>.* = \d+$`},
				{"file synced", `^fsync\(\d+<` + quoted + tmp + `>\) += 0$`},
				{"shard directory made", `^mkdirat\(\d+<` + quoted + `>, "0a", 0700\) += 0$`},
				{"its parent synced", `^fsync\(\d+<` + quoted + `>\) += 0$`},
				{"renamed", `^renameat2\(\d+<` + quoted + `/tmp>, "00112233445566778899aabbccddeeff\.bin-0", \d+<` +
					quoted + `/0a>, "00112233445566778899aabbccddeeff\.bin", RENAME_NOREPLACE\) += 0$`},
				{"directory synced", `^fsync\(\d+<` + quoted + `/0a>\) += 0$`},
				{"answered", `^write\(1<.*"stored;`},
			}
			calls, after := readTrace(t, trace), 0
			for _, step := range order {
				pattern := regexp.MustCompile(step.pattern)
				found := -1
				for i, c := range calls {
					if pattern.MatchString(c.text) {
						found = i // the last one, since there are several writes
					}
				}
				if found < 0 {
					t.Errorf("%s: no such call in the trace", step.what)
					continue
				}
				if calls[found].begun <= after {
					t.Errorf("%s: the call begins at line %d, before the step ahead of it ended at %d", step.what,
						calls[found].begun, after)
				}
				after = calls[found].end
			}
			if t.Failed() {
				for _, c := range calls {
					t.Log(c.text)
				}
			}
		})
	}
}

func TestFailingSystemCallLeavesNothing(t *testing.T) { // abuse case C128
	t.Parallel()
	const unavailable, full = "object store unavailable;", "no space in object store;"
	for name, c := range map[string]struct {
		inject, result string
		kept           bool // the call is not essential
	}{
		"open_of_anything_EMFILE":    {"openat:error=EMFILE:when=4+", unavailable, false},
		"temporary_file_EMFILE":      {"openat:error=EMFILE", unavailable, false},
		"write_EIO":                  {"write:error=EIO:when=1", unavailable, false},
		"write_ENOSPC":               {"write:error=ENOSPC:when=1", full, false},
		"write_EDQUOT":               {"write:error=EDQUOT:when=1", full, false},
		"second_write_ENOSPC":        {"write:error=ENOSPC:when=2", full, false},
		"sync_of_the_file_EIO":       {"fsync:error=EIO:when=1", unavailable, false},
		"sync_of_the_file_ENOSPC":    {"fsync:error=ENOSPC:when=1", full, false},
		"mkdir_ENOSPC":               {"mkdirat:error=ENOSPC:when=1", full, false},
		"sync_of_the_parent_EIO":     {"fsync:error=EIO:when=2", unavailable, false},
		"rename_EIO":                 {"renameat2:error=EIO", unavailable, false},
		"rename_ENOSPC":              {"renameat2:error=ENOSPC", full, false},
		"sync_of_the_directory_EIO":  {"fsync:error=EIO:when=3", unavailable, false},
		"rename_not_known_is_linked": {"renameat2:error=EINVAL", "stored;", true},
		"rename_forbidden_and_link":  {"renameat2,linkat:error=EINVAL", unavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newStore(t)
			trace := filepath.Join(t.TempDir(), "trace")
			calls, _, _ := strings.Cut(c.inject, ":")
			args := []string{"-y", "-o", trace, "-e", "trace=" + calls + ",fsync", "-e", "inject=" + c.inject}
			if name == "temporary_file_EMFILE" {
				args = append(args, "-P", filepath.Join(dir, tempName)) // only calls that name this directory
			}
			result := runHelper(t, dir, "600000", args...)
			injected, err := os.ReadFile(trace)
			if err != nil || !bytes.Contains(injected, []byte("(INJECTED)")) {
				t.Fatalf("nothing was injected: %v\n%s", err, injected)
			}
			if !strings.HasPrefix(result, c.result) {
				t.Errorf("helper says %s\nwant %s\n%s", result, c.result, injected)
			}
			wantNoTempFiles(t, dir)
			if name == "sync_of_the_parent_EIO" {
				if _, err := os.Stat(filepath.Join(dir, "0a")); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the directory whose entry may be lost is still there: %v", err)
				}
			}
			_, err = s.Stat(t.Context(), traceKey)
			if c.kept && err != nil || !c.kept && !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("Stat afterwards = %v", err)
			}
			for fd, n := range failedSyncs(injected) {
				if n > 1 {
					t.Errorf("fsync of %s was tried %d times after it had failed", fd, n)
				}
			}
			if _, err := s.Put(t.Context(), traceKey, strings.NewReader("again"),
				blob.PutOptions{Size: 5}); c.kept != errors.Is(err, blob.ErrExists) || !c.kept && err != nil {
				t.Errorf("Put once the fault is over = %v", err)
			}
		})
	}
}

// failedSyncs counts the syncs of every descriptor whose sync failed.
func failedSyncs(trace []byte) map[string]int {
	counts := map[string]int{}
	syncs := regexp.MustCompile(`fsync\((\d+<[^>]*>)\)`)
	for line := range strings.Lines(string(trace)) {
		if m := syncs.FindStringSubmatch(line); m != nil && (counts[m[1]] > 0 || strings.Contains(line, "(INJECTED)")) {
			counts[m[1]]++
		}
	}
	return counts
}

func TestRenameFallbackNeverOverwrites(t *testing.T) {
	t.Parallel()
	s, dir := newStore(t)
	mustPut(t, s, traceKey, "first")
	result := runHelper(t, dir, "5", "-o", filepath.Join(t.TempDir(), "trace"), "-e", "trace=renameat2", "-e",
		"inject=renameat2:error=EINVAL")
	if !strings.HasPrefix(result, "object exists;") {
		t.Errorf("helper says %s", result)
	}
	if got, err := os.ReadFile(filepath.Join(dir, string(traceKey))); err != nil || string(got) != "first" {
		t.Errorf("object is now %q, %v", got, err)
	}
	wantNoTempFiles(t, dir)
}

func TestKilledPutLeavesOnlyATemporaryFile(t *testing.T) { // abuse case C123
	t.Parallel()
	s, dir := newStore(t)
	cmd := helperCommand(t, dir, "-")
	body, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// This returns when everything but the 64 KiB in the pipe has been read, and two buffers of it
	// are in the file.
	if _, err := body.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the helper was not killed")
	}
	if left := listTree(t, dir); !slices.Equal(left,
		[]string{markerName, "tmp/", "tmp/00112233445566778899aabbccddeeff.bin-0"}) {
		t.Errorf("left after the kill: %v", left)
	}
	if _, err := s.Stat(t.Context(), traceKey); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Stat after the kill = %v, want ErrNotFound", err)
	}
	mustPut(t, s, traceKey, "second try") // beside the file that the first Put left
	path := filepath.Join(dir, tempName, "00112233445566778899aabbccddeeff.bin-0")
	if err := os.Chtimes(path, fixedClock(), fixedClock()); err != nil {
		t.Fatal(err)
	}
	if removed, err := s.SweepTemp(fixedClock().Add(1)); removed != 1 || err != nil {
		t.Errorf("SweepTemp = %d, %v, want 1", removed, err)
	}
	wantNoTempFiles(t, dir)
}

func TestLargeBodyStaysOutOfMemory(t *testing.T) {
	t.Parallel()
	_, dir := newStore(t)
	const size, most = 192 << 20, 4 << 20
	result := runHelper(t, dir, strconv.Itoa(size))
	var allocated int64
	if _, err := fmt.Sscanf(result, "stored; %d bytes allocated", &allocated); err != nil {
		t.Fatalf("helper: %s", result)
	}
	if allocated > most {
		t.Errorf("%d bytes were allocated for a body of %d, at most %d are allowed", allocated, size, most)
	}
}

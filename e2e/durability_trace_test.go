package e2e

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// call is a system call in the output of `strace -f -y`. begin and end are positions in that
// output: a call whose end precedes another's begin had returned by then.
type call struct {
	begin, end int
	name       string
	args       string // as strace writes them
	result     int64
}

// failed reports whether the call failed.
func (c call) failed() bool { return c.result < 0 }

// file returns the path or address of the descriptor in the first argument.
func (c call) file() string { return descriptorPath(c.args) }

var (
	whole      = regexp.MustCompile(`^(\d+) +(\w+)\((.*)\) += (-?\d+)`)
	unfinished = regexp.MustCompile(`^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$`)
	resumed    = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (-?\d+)`)
	descriptor = regexp.MustCompile(`^\d+<(.*?)>(?:\(deleted\))?(?:,|$)`)
	quoted     = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
)

// parseTrace parses the output of strace and skips other lines. The calls are in the order of their
// beginnings.
func parseTrace(text string) []call {
	var calls []call
	open := map[string]int{} // thread and name -> index of the call in progress
	for at, line := range strings.Split(text, "\n") {
		if m := unfinished.FindStringSubmatch(line); m != nil {
			open[m[1]+m[2]] = len(calls)
			calls = append(calls, call{begin: at, end: -1, name: m[2], args: m[3], result: -1})
		} else if m := resumed.FindStringSubmatch(line); m != nil {
			if i, ok := open[m[1]+m[2]]; ok {
				calls[i].end, calls[i].result = at, number(m[4])
				calls[i].args += m[3]
				delete(open, m[1]+m[2])
			}
		} else if m := whole.FindStringSubmatch(line); m != nil {
			calls = append(calls, call{begin: at, end: at, name: m[2], args: m[3], result: number(m[4])})
		}
	}
	done := calls[:0]
	for _, c := range calls {
		if c.end >= 0 {
			done = append(done, c)
		}
	}
	return done
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // the pattern matches numbers only
	return n
}

func descriptorPath(args string) string {
	if m := descriptor.FindStringSubmatch(args); m != nil {
		return m[1]
	}
	return ""
}

// renamed returns both full paths of a rename, renameat or renameat2.
func (c call) renamed() (from, to string, ok bool) {
	names := quoted.FindAllStringSubmatchIndex(c.args, -1)
	if !strings.HasPrefix(c.name, "rename") || c.failed() || len(names) != 2 {
		return "", "", false
	}
	at := func(i int, before string) string {
		name := c.args[names[i][2]:names[i][3]]
		if path.IsAbs(name) {
			return name
		}
		return path.Join(descriptorPath(before), name)
	}
	return at(0, c.args), at(1, strings.TrimPrefix(c.args[names[0][1]:], ", ")), true
}

func (c call) isSync() bool { return (c.name == "fsync" || c.name == "fdatasync") && !c.failed() }

// exchangeOf returns the calls from the read of a request on a connection to the first write of its
// answer, both included. request is its beginning, such as "POST /api/upload ".
func exchangeOf(calls []call, request string) ([]call, error) {
	for i, c := range calls {
		if c.name != "read" || !strings.Contains(c.args, `, "`+request) {
			continue
		}
		for j := i; j < len(calls); j++ {
			if answer := calls[j]; answer.isAnswer() && answer.file() == c.file() {
				return calls[i : j+1], nil
			}
		}
		return nil, errors.New("the request was not answered")
	}
	return nil, fmt.Errorf("no read of %q", request)
}

func (c call) isAnswer() bool {
	return (strings.HasPrefix(c.name, "write") || strings.HasPrefix(c.name, "send")) &&
		strings.Contains(c.args, `"HTTP/1.1 200 OK`)
}

// durable checks the order of the calls of a request that makes an upload survive a power failure:
// sync the object's bytes, rename it, sync the directory, sync the database's log, and only then
// answer. It returns an error for a wrong order.
func durable(calls []call) error {
	answer := calls[len(calls)-1]
	if !answer.isAnswer() {
		return errors.New("the last call is no answer")
	}
	// after returns the first sync of a matching file that began after the position and ended
	// before the answer began.
	after := func(position int, what string, match func(file string) bool) (call, error) {
		for _, c := range calls {
			if c.isSync() && match(c.file()) && c.begin > position && c.end < answer.begin {
				return c, nil
			}
		}
		return call{}, fmt.Errorf("%s was not synced when it had to be", what)
	}
	for _, move := range calls {
		from, to, ok := move.renamed()
		if !ok {
			continue
		}
		written := -1
		for _, c := range calls {
			if strings.Contains(c.name, "write") && c.file() == from {
				written = max(written, c.end)
			}
		}
		if written < 0 {
			return fmt.Errorf("nothing was written to %s", from)
		}
		content, err := after(written, "the content "+from, func(f string) bool { return f == from })
		if err != nil {
			return err
		}
		if content.end >= move.begin {
			return fmt.Errorf("%s was renamed before its sync was over", from)
		}
		dir, err := after(move.end, "the directory of "+to, func(f string) bool { return f == path.Dir(to) })
		if err != nil {
			return err
		}
		isLog := func(f string) bool { return strings.HasSuffix(f, "-wal") && path.Base(f) != accessLog }
		logged := -1
		for _, c := range calls {
			if strings.Contains(c.name, "write") && isLog(c.file()) && c.begin > dir.end && c.end < answer.begin {
				logged = max(logged, c.end)
			}
		}
		if logged < 0 {
			return errors.New("nothing was committed after the directory was synced")
		}
		_, err = after(logged, "the database's log", isLog)
		return err
	}
	return errors.New("no file was renamed")
}

// recorded is the output of strace for one upload, with shortened paths and a second thread with
// other calls.
const recorded = `41 read(9<TCP:[127.0.0.1:8080->127.0.0.1:50000]>, "POST /api/upload HTTP/1.1\r\nHost:"..., 4096) = 720
41 openat(5</d/objects/tmp>, "55aa-0", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0600) = 11</d/objects/tmp/55aa-0>
42 read(3<pipe:[77]>, "x", 16) = -1 EAGAIN (Resource temporarily unavailable)
41 write(11</d/objects/tmp/55aa-0>, "\377\330\377\333"..., 20480) = 20480
41 fsync(11</d/objects/tmp/55aa-0> <unfinished ...>
42 fsync(12</d/access.db-other> <unfinished ...>
41 <... fsync resumed>) = 0
41 renameat2(5</d/objects/tmp>, "55aa-0", 13</d/objects/55>, "55aa.jpg", RENAME_NOREPLACE) = 0
42 <... fsync resumed>) = 0
43 fsync(13</d/objects/55>) = 0
42 pwrite64(7</d/larder.db-wal>, "\0\0\0"..., 4120, 8272) = 4120
42 fdatasync(7</d/larder.db-wal> <unfinished ...>
42 <... fdatasync resumed>) = 0
41 write(9<TCP:[127.0.0.1:8080->127.0.0.1:50000]>, "HTTP/1.1 200 OK\r\nContent-Type: "..., 700) = 700
41 +++ exited with 0 +++`

func TestDurableOrder(t *testing.T) {
	t.Parallel()
	lines := strings.Split(recorded, "\n")
	check := func(lines []string) error {
		calls, err := exchangeOf(parseTrace(strings.Join(lines, "\n")), "POST /api/upload ")
		if err != nil {
			return err
		}
		return durable(calls)
	}
	if err := check(lines); err != nil {
		t.Fatalf("the right order is refused: %v", err)
	}
	access := `43 pwrite64(8</d/audit.db-wal>, "7\177\6\202"..., 32, 0) = 32` // no upload waits for its sync
	if err := check(slices.Insert(slices.Clone(lines), 13, access)); err != nil {
		t.Errorf("a write to the access log: %v", err)
	}
	without := func(numbers ...int) []string {
		var rest []string
		for i, line := range lines {
			keep := true
			for _, n := range numbers {
				keep = keep && i != n
			}
			if keep {
				rest = append(rest, line)
			}
		}
		return rest
	}
	moved := func(from, to int) []string { // line from is moved before line to
		rest := without(from)
		if from < to {
			to--
		}
		return append(append(append([]string{}, rest[:to]...), lines[from]), rest[to:]...)
	}
	for _, test := range []struct {
		name  string
		lines []string
	}{
		{"no sync of the content", without(4, 6)},
		{"no sync of the directory", without(9)},
		{"no sync of the log", without(11, 12)},
		{"no rename", without(7)},
		{"no commit", without(10)},
		{"no answer", without(13)},
		{"renamed while the content is being synced", moved(6, 9)},
		{"content written after its sync", moved(3, 7)},
		{"directory synced before the rename", moved(9, 7)},
		{"directory synced after the log", moved(9, 13)},
		{"log synced before it was written", moved(10, 13)},
		{"answered before the log was synced", moved(13, 11)},
		{"answered while the log is being synced", moved(13, 12)},
		{"the content's sync failed", replaced(lines, 6, "= 0", "= -1 EIO (Input/output error)")},
		{"the directory's sync failed", replaced(lines, 9, "= 0", "= -1 EIO (Input/output error)")},
		{"the log's sync failed", replaced(lines, 12, "= 0", "= -1 EIO (Input/output error)")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if check(test.lines) == nil {
				t.Errorf("accepted:\n%s", strings.Join(test.lines, "\n"))
			}
		})
	}
}

func replaced(lines []string, n int, old, text string) []string {
	changed := append([]string{}, lines...)
	changed[n] = strings.Replace(changed[n], old, text, 1)
	return changed
}

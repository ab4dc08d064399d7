//go:build crashpoints

package crash

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// at is the point to crash at, and times the number of passes after which it crashes:
// `LARDER_CRASH_AT=upload.stored:3` crashes at the third pass.
var at, times = parse(taken("LARDER_CRASH_AT"))

var passed atomic.Int64

// taken returns an environment variable and removes it, since it is no setting of the service.
func taken(name string) string {
	value := os.Getenv(name)
	_ = os.Unsetenv(name) // cannot fail for a constant name
	return value
}

func parse(s string) (string, int64) {
	name, number, counted := strings.Cut(s, ":")
	if n, err := strconv.ParseInt(number, 10, 64); counted && err == nil {
		return name, n
	}
	return name, 1
}

// Point kills the process at once if name is the point to crash at.
func Point(name string) {
	if name == at && passed.Add(1) == times {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}

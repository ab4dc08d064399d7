//go:build crashpoints

package crash

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// at is the point to die at, and times how often it is passed until then:
// `LARDER_CRASH_AT=upload.stored:3` dies the third time.
var at, times = parse(taken("LARDER_CRASH_AT"))

var passed atomic.Int64

// taken returns a variable and takes it out of the environment, since it is no
// setting of the service.
func taken(name string) string {
	value := os.Getenv(name)
	_ = os.Unsetenv(name) // fails for no name that is written here
	return value
}

func parse(s string) (string, int64) {
	name, number, counted := strings.Cut(s, ":")
	if n, err := strconv.ParseInt(number, 10, 64); counted && err == nil {
		return name, n
	}
	return name, 1
}

// Point kills the process, without any tidying up, when name is where it is to crash.
func Point(name string) {
	if name == at && passed.Add(1) == times {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}

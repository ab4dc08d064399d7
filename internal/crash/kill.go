//go:build crashpoints

package crash

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// target is the point to crash at, and passes the number of passes after which it crashes:
// `LARDER_CRASH_AT=upload.stored:3` crashes at the third pass.
var target, passes = parse(takeEnv("LARDER_CRASH_AT"))

var passed atomic.Int64

// takeEnv returns an environment variable and removes it, since it is no setting of the service.
func takeEnv(name string) string {
	value := os.Getenv(name)
	_ = os.Unsetenv(name) // cannot fail for a constant name
	return value
}

// parse splits `name:number` into the name of a point and the number of passes, 1 if there is none.
func parse(s string) (string, int64) {
	name, number, counted := strings.Cut(s, ":")
	if n, err := strconv.ParseInt(number, 10, 64); counted && err == nil {
		return name, n
	}
	return name, 1
}

// Point kills the process by SIGKILL at once if name is the point to crash at and has been passed
// often enough.
func Point(name string) {
	if name == target && passed.Add(1) == passes {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}

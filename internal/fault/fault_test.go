package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"larder/internal/fault"
)

// The text of a fault is its message, and a cause follows a colon, without the full stop of the
// message before it.
func TestError(t *testing.T) {
	t.Parallel()
	cause := errors.New("read root: input/output error")
	for _, c := range []struct {
		fault *fault.Error
		text  string
	}{
		{fault.New(fault.Unavailable, "The storage is not available at the moment."),
			"The storage is not available at the moment."},
		{fault.New(fault.Unavailable, "The storage is not available at the moment.").WithCause(cause),
			"The storage is not available at the moment: read root: input/output error"},
		{fault.New(fault.Invalid, "name is empty").WithCause(cause), "name is empty: read root: input/output error"},
	} {
		if got := c.fault.Error(); got != c.text {
			t.Errorf("%q, want %q", got, c.text)
		}
		if wrapped := fmt.Errorf("open: %w", c.fault); wrapped.Error() != "open: "+c.text {
			t.Errorf("wrapped: %q", wrapped)
		}
	}
}

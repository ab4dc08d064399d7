//go:build !amd64

package thumbtest

// Other architectures have no such calls.
const (
	fork  = 1001
	vfork = 1002
)

// foreignCall does nothing here.
func foreignCall() {}

//go:build !crashpoints

// Package crash names the points at which a crash must lose nothing. A binary built with the tag
// crashpoints kills itself at the point that LARDER_CRASH_AT names. In any other build the points
// do nothing.
package crash

// Point marks a place at which a test may kill the process; in this build it does nothing. A name
// has the form `<operation>.<last step>`, such as `upload.stored`.
func Point(string) {}

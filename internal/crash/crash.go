//go:build !crashpoints

// Package crash names the lines between which a crash must lose nothing. A binary built with
// the tag crashpoints kills itself at the point that LARDER_CRASH_AT names; in any other build
// a point does nothing.
package crash

// Point is a place to crash at. Names are `<operation>.<what has just been
// done>`, such as `upload.stored`.
func Point(string) {}

//go:build !race

package access_test

// timeFactor is the factor for time limits under the race detector.
const timeFactor = 1

//go:build !race

package access_test

// timeFactor is how much longer things may take under the race detector.
const timeFactor = 1

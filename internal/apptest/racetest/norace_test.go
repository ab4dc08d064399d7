//go:build !race

package racetest

// rounds of each case: a few, beside all the other tests; scripts/test runs them in full with the race detector.
const rounds = 10

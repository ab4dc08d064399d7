//go:build !race

package racetest

// rounds of each case: a few, beside all the other tests; scripts/test runs them in full
// with the race detector.
const rounds = 10

// peopleRounds is how often accounts and shares are raced for, on both set-ups: passwords
// are hashed in many of them, so that this is where they are run in full, and the race
// detector sees a few.
const peopleRounds = 100

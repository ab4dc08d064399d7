//go:build race

package racetest

// rounds is the number of rounds of each case: the full number.
const rounds = 100

// peopleRounds is the number of rounds of the cases of accounts and shares; see norace_test.go.
const peopleRounds = 10

//go:build !race

package racetest

// rounds is the number of rounds of each case. There are few without the race detector;
// scripts/test runs the full number with it.
const rounds = 10

// peopleRounds is the number of rounds of the cases of accounts and shares. The full number
// runs here, without the race detector, since many of them hash passwords.
const peopleRounds = 100

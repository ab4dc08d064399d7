//go:build race

package racetest

// rounds of each case. The race detector makes them slow, and they are what the
// races are judged by.
const rounds = 100

// peopleRounds: see the other file.
const peopleRounds = 10

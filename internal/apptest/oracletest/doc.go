// Package oracletest compares the permission decisions of the service with those of a second, naive
// implementation. It writes small random worlds (accounts, keys, mounts, entries, rules) into the
// database of a running service, sends requests to every endpoint, and compares each answer with
// the result of brute force over plain data. The naive implementation uses none of the packages
// that decide in the service.
//
// A difference prints the seed, the world and the request. `go test ./internal/apptest/oracletest
// -args -seed N -worlds 1` repeats one world.
package oracletest

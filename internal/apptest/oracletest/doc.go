// Package oracletest judges the whole service by a second, naive reading of who may do what to a
// path: small random worlds (accounts, keys, mounts, entries, rules) are put into the database of a
// running service, every door is asked, and each answer is compared with what brute force over
// plain data says. Nothing here uses the packages that decide in the service.
//
// A difference prints the seed, the world and the request. `go test ./internal/apptest/oracletest
// -args -seed N -worlds 1` plays one world again.
package oracletest

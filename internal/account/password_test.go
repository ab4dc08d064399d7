package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"larder/internal/fault"
	"larder/internal/secret"
)

// publishedHashes are hashes of "password" with the salt "somesalt" from the tests of
// golang.org/x/crypto/argon2.
var publishedHashes = []string{
	"$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$ZVrRXqxlLcWfcXCnMyv0m4Rpvh/bnCi7",
	"$argon2id$v=19$m=64,t=2,p=1$c29tZXNhbHQ$Bo1ismRVk2qm6+YAYLCmWHDb+j3fjUH3",
}

// from is the source of hashes in these tests, unless they test sources.
var from = AddressSource("192.0.2.1")

// newHashingService returns a Service that can only hash.
func newHashingService() *Service {
	master := sha256.Sum256([]byte("a master key for tests"))
	keys, err := secret.New(master[:])
	if err != nil {
		panic(err)
	}
	return New(Config{Random: rand.Reader, Keys: keys})
}

func TestHashIsArgon2idInPHCForm(t *testing.T) {
	t.Parallel()
	s, ctx := newHashingService(), context.Background()
	one, err := s.HashPassword(ctx, from, "pass wörd")
	if err != nil {
		t.Fatal(err)
	}
	two, err := s.HashPassword(ctx, from, "pass wörd")
	if err != nil {
		t.Fatal(err)
	}
	const prefix = "$argon2id$v=19$m=19456,t=2,p=1$"
	if !strings.HasPrefix(one, prefix) || len(one) != len(prefix)+22+1+43 || one == two {
		t.Errorf("got %s and %s", one, two)
	}
	for password, want := range map[secret.Text]bool{"pass wörd": true, "pass word": false, "": false,
		"pass wörd ": false} {
		if got, err := s.VerifyPassword(ctx, from, one, password); err != nil || got != want {
			t.Errorf("%q: %v, %v", password.Reveal(), got, err)
		}
	}
}

func TestHashesOfAnotherCostStillVerify(t *testing.T) {
	t.Parallel()
	for _, stored := range publishedHashes {
		for password, want := range map[secret.Text]bool{"password": true, "Password": false} {
			if got, err := newHashingService().
				VerifyPassword(context.Background(), from, stored, password); err != nil || got != want {
				t.Errorf("%s with %s: %v, %v", stored, password.Reveal(), got, err)
			}
		}
	}
}

func TestMalformedHashIsAnError(t *testing.T) {
	t.Parallel()
	good := publishedHashes[0]
	for name, stored := range map[string]string{
		"empty":                "",
		"clear text":           "password",
		"another algorithm":    strings.Replace(good, "argon2id", "argon2i", 1),
		"another version":      strings.Replace(good, "v=19", "v=16", 1),
		"no passes":            strings.Replace(good, "t=1", "t=0", 1),
		"endless passes":       strings.Replace(good, "t=1", "t=17", 1),
		"memory beyond bounds": strings.Replace(good, "m=64", "m=262145", 1),
		"no lanes":             strings.Replace(good, "p=1", "p=0", 1),
		"too many lanes":       strings.Replace(good, "p=1", "p=17", 1),
		"lanes that overflow":  strings.Replace(good, "p=1", "p=257", 1),
		"other spelling":       strings.Replace(good, "m=64", "m=064", 1),
		"no base64":            strings.Replace(good, "c29t", "c2!t", 1),
		"short salt":           strings.Replace(good, "c29tZXNhbHQ", "c29t", 1),
		"short sum":            "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$ZVrR",
		"more":                 good + "$x",
	} {
		_, err := newHashingService().VerifyPassword(context.Background(), from, stored, "password")
		if err == nil || fault.KindOf(err) != fault.Internal {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Abuse case C107. A cancelled context prevents hashing, so an answer proves that nothing was
// hashed.
func TestTooLongPasswordIsNeverHashed(t *testing.T) {
	t.Parallel()
	s := newHashingService()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		password secret.Text
		hashed   bool
	}{
		"none":                         {"", false},
		"one character":                {"x", true},
		"128 characters":               {secret.Text(strings.Repeat("x", 128)), true},
		"129 characters":               {secret.Text(strings.Repeat("x", 129)), false},
		"128 characters, 512 bytes":    {secret.Text(strings.Repeat("😀", 128)), true},
		"a megabyte":                   {secret.Text(strings.Repeat("x", 1<<20)), false},
		"a megabyte of broken letters": {secret.Text(strings.Repeat("\xff", 1<<20)), false},
	} {
		_, err := s.HashPassword(ctx, from, c.password)
		if c.hashed && !errors.Is(err, context.Canceled) || !c.hashed && !fault.Is(err, fault.Invalid) {
			t.Errorf("hash %s: got %v", name, err)
		}
		right, err := s.VerifyPassword(ctx, from, publishedHashes[0], c.password)
		if right || (c.hashed || c.password == "") != errors.Is(err, context.Canceled) {
			t.Errorf("verify %s: got %v, %v", name, right, err)
		}
	}
}

func TestHashingWaitsForASlotUntilTheContextEnds(t *testing.T) {
	t.Parallel()
	s := newHashingService()
	other := mustStart(t, s.hashing, AccountSource("ann")) // other sources are hashing
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() {
		_, err := s.HashPassword(ctx, from, "password")
		done <- err
	}()
	go func() {
		_, err := s.VerifyPassword(ctx, from, publishedHashes[0], "password")
		done <- err
	}()
	cancel()
	for range 2 {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("while all slots are in use: %v", err)
		}
	}
	s.hashing.release(other)
	for range 3 {
		if right, err := s.VerifyPassword(context.Background(), from, publishedHashes[0], "password"); !right ||
			err != nil {
			t.Errorf("with a slot: %v, %v", right, err)
		}
	}
	if s.hashing.freeSlots != parallelHashes || s.hashing.otherRunning != 0 ||
		len(s.hashing.byKind[addressKind].sources) != 0 {
		t.Errorf("at the end: %d slots are free, %d other hashes run, waiting %+v", s.hashing.freeSlots,
			s.hashing.otherRunning, s.hashing.byKind)
	}
}

// Abuse case C48: an unknown user takes as long as a known one.
func TestLoginOfUnknownUserTakesAsLong(t *testing.T) {
	t.Parallel()
	s := newHashingService()
	real, err := s.HashPassword(context.Background(), from, "password")
	if err != nil {
		t.Fatal(err)
	}
	want, err := parseHash(real)
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseHash(s.dummyHash())
	if err != nil {
		t.Fatal(err)
	}
	if got.passes != want.passes || got.memory != want.memory || got.lanes != want.lanes ||
		len(got.salt) != len(want.salt) || len(got.sum) != len(want.sum) {
		t.Errorf("an unknown user takes %s, a known one %s", s.dummyHash(), real)
	}
}

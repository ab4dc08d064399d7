package secret_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"larder/internal/secret"
)

// anotherRing returns a keyring of another master key than newRing.
func anotherRing(t *testing.T) *secret.Keyring {
	t.Helper()
	key := goodKey()
	key[0]++
	ring, err := secret.New(key)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func TestReseal(t *testing.T) {
	t.Parallel()
	old, next := newRing(t), anotherRing(t)
	sealed, err := old.Seal("provider", "row-1", []byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := next.Seal("provider", "row-1", []byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	r := secret.Rotation{From: old, To: next}
	anew, err := r.Reseal("provider", "row-1", sealed)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := next.Open("provider", "row-1", anew); err != nil || string(plain) != "abc" {
		t.Errorf("sealed anew: %q, %v", plain, err)
	}
	for name, kept := range map[string]string{"empty": "", "of another key": foreign, "plain": "abc"} {
		if got, err := r.Reseal("provider", "row-1", kept); err != nil || got != kept {
			t.Errorf("%s: %q, %v; want it unchanged", name, got, err)
		}
	}
	if got, err := r.Reseal("provider", "row-2", sealed); err != nil || got != sealed {
		t.Errorf("a value of another row: %q, %v; want it unchanged", got, err)
	}
	if r.Sealed != 1 || r.Unreadable != 3 {
		t.Errorf("%d sealed, %d unreadable; want 1 and 3", r.Sealed, r.Unreadable)
	}
}

// A former key verifies tokens of its purposes until its time is over, and does nothing else.
func TestFormerKey(t *testing.T) {
	t.Parallel()
	old := newRing(t)
	now := time.UnixMilli(1_000_000)
	until := now.Add(15 * time.Minute)
	ring := anotherRing(t).WithFormer(old.Former(until, "share"), func() time.Time { return now })
	verifies := func(purpose, token string) bool {
		payload, err := ring.Verify(purpose, token)
		if err != nil && !errors.Is(err, secret.ErrForged) {
			t.Fatal(err)
		}
		return err == nil && string(payload) == "abc"
	}
	token := old.Sign("share", []byte("abc"))
	if !verifies("share", token) || !verifies("share", ring.Sign("share", []byte("abc"))) {
		t.Error("a token of the former or the present key is refused")
	}
	if verifies("share", token[:len(token)-1]+"_") || verifies("csrf", token) {
		t.Error("a changed token, or one for another purpose, is valid")
	}
	if verifies("unlocked", old.Sign("unlocked", []byte("abc"))) {
		t.Error("a token of the former key is valid for a purpose that was not kept")
	}
	if string(ring.Key("session")) == string(old.Key("session")) || ring.Fingerprint() == old.Fingerprint() ||
		ring.Sign("share", nil) == old.Sign("share", nil) {
		t.Error("the former key is used beyond verification")
	}
	sealed, err := old.Seal("provider", "row-1", []byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ring.Open("provider", "row-1", sealed); !errors.Is(err, secret.ErrForged) {
		t.Errorf("the former key opens sealed values: %v", err)
	}
	now = until.Add(-time.Millisecond)
	if !verifies("share", token) {
		t.Error("a token of the former key is refused before the end")
	}
	now = until
	if verifies("share", token) {
		t.Error("a token of the former key is valid after the end")
	}
	if _, err := anotherRing(t).Verify("share", token); !errors.Is(err, secret.ErrForged) {
		t.Errorf("without a former key: %v", err)
	}
}

func TestFormerKeysPrintRedacted(t *testing.T) {
	t.Parallel()
	f := newRing(t).Former(time.UnixMilli(1), "share")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		if got := fmt.Sprintf(verb, f); got != "[redacted]" {
			t.Errorf("%s prints %s", verb, got)
		}
	}
}

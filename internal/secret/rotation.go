package secret

import (
	"errors"
	"time"
)

// Rotation seals values anew when one master key replaces another, and counts them.
type Rotation struct {
	From, To   *Keyring
	Sealed     int // values sealed anew
	Unreadable int // values that From does not open; they stay as they are
}

// Reseal returns the value that From has sealed for purpose and recordID, sealed with To. An empty
// column stays empty. A value that From does not open is returned unchanged: it was unreadable
// before, and the rotation must not fail because of it.
func (r *Rotation) Reseal(purpose, recordID, sealed string) (string, error) {
	if sealed == "" {
		return "", nil
	}
	plain, err := r.From.Open(purpose, recordID, sealed)
	if errors.Is(err, ErrForged) {
		r.Unreadable++
		return sealed, nil
	}
	if err != nil {
		return "", err
	}
	r.Sealed++
	return r.To.Seal(purpose, recordID, plain)
}

// Former verifies tokens that a former master key signed. It holds the derived keys of some
// purposes only, from which neither the master key nor the keys of other purposes follow. It prints
// as `[redacted]`.
type Former struct {
	Keys  map[string][]byte // by purpose
	Until time.Time         // no token of the former key is valid from then on
}

// Former returns the keys with which k signs for some purposes, by which their tokens can still be
// verified, up to until, beside another master key.
func (k Keyring) Former(until time.Time, purposes ...string) Former {
	f := Former{Keys: map[string][]byte{}, Until: until}
	for _, purpose := range purposes {
		f.Keys[purpose] = k.derive("sign", purpose)
	}
	return f
}

// WithFormer returns a keyring whose Verify also accepts the tokens of a former key, as long as now
// returns a time before f.Until. Everything else works as with k.
func (k Keyring) WithFormer(f Former, now func() time.Time) *Keyring {
	k.former, k.now = f, now
	return &k
}

// Package secret handles secrets: values that never print, keys derived from one master key, sealed
// columns, signed tokens and the key file.
//
// Every purpose has a key of its own, derived with HKDF (RFC 5869). So a token signed for one
// purpose is not valid for another, and a leaked derived key reveals nothing about the others. A
// sealed value is bound to its purpose and to its record: it cannot be opened in another row (abuse
// case C116). A master key that is short, empty or looks like a default is refused (abuse case
// C117).
package secret

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"
)

// Keyring derives the keys of the service from its master key. It is safe for concurrent use, and
// prints as `[redacted]`.
type Keyring struct {
	root []byte // HKDF's pseudorandom key; the master key itself is not stored

	former Former           // verifies tokens of a former key
	now    func() time.Time // nil without a former key
}

// New returns the keyring of a master key of KeyBytes bytes. Errors are those of CheckKey.
func New(master []byte) (*Keyring, error) {
	if err := CheckKey(master); err != nil {
		return nil, err
	}
	root, err := hkdf.Extract(sha256.New, master, nil)
	if err != nil {
		return nil, fmt.Errorf("derive keys: %w", err)
	}
	return &Keyring{root: root}, nil
}

// Key returns the key for purpose, KeyBytes bytes, which is always the same for the same master key
// and purpose. The purpose is a constant in the code ("session"), never a value from a client. Seal
// and Sign use separate keys, so their purposes cannot collide with these.
func (k Keyring) Key(purpose string) []byte { return k.derive("key", purpose) }

// Fingerprint identifies the master key without revealing it, as 16 hexadecimal digits. It is
// stored beside sealed data, so that a start with the wrong key can be refused.
func (k Keyring) Fingerprint() string { return hex.EncodeToString(k.derive("fingerprint", "")[:8]) }

// derive returns the key of KeyBytes bytes for a use (key, seal, sign or fingerprint) and a
// purpose. It panics on an error, since HKDF-Expand fails only for lengths beyond 255 hashes.
func (k Keyring) derive(use, purpose string) []byte {
	key, err := hkdf.Expand(sha256.New, k.root, "larder/1/"+use+"/"+purpose, KeyBytes)
	if err != nil {
		panic(fmt.Errorf("derive the key for %s: %w", purpose, err))
	}
	return key
}

// Format writes `[redacted]` for every verb and flag.
func (k Keyring) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// Format writes `[redacted]` for every verb and flag.
func (f Former) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redacted) }

// Package secret keeps what must not be seen: values that never print, keys derived from one master
// key, sealed columns, signed tokens and the key file.
//
// Every purpose has a key of its own, derived by HKDF (RFC 5869), so that a token signed for one
// purpose proves nothing for another and a leak of one derived key tells nothing about the rest. A
// sealed value is bound to its purpose and to the record it belongs to: moved to another row it
// doesn't open (abuse case C116). A master key that is short, empty or looks like a default is
// refused (abuse case C117).
package secret

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// Keyring derives the keys of the service from its master key. It is safe for concurrent use,
// and prints as `[redacted]`.
type Keyring struct {
	root []byte // HKDF's pseudorandom key; the master key itself is not kept
}

// New returns the keyring of a master key of KeyBytes bytes; a key that CheckKey
// refuses is an error.
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

// Key returns the key for purpose, KeyBytes bytes: always the same for the same master key and
// purpose. The purpose is a constant of the code ("session"), never something that a client sent.
// Seal and Sign use keys of their own, so their purposes can't collide with these.
func (k Keyring) Key(purpose string) []byte { return k.derive("key", purpose) }

// Fingerprint tells two master keys apart without telling anything about them, as 16 hexadecimal
// digits. Stored beside the sealed data, it lets a start with the wrong key be refused.
func (k Keyring) Fingerprint() string { return hex.EncodeToString(k.derive("fingerprint", "")[:8]) }

// derive panics on an error: HKDF-Expand fails for lengths beyond 255 hashes alone.
func (k Keyring) derive(use, purpose string) []byte {
	key, err := hkdf.Expand(sha256.New, k.root, "larder/1/"+use+"/"+purpose, KeyBytes)
	if err != nil {
		panic(fmt.Errorf("derive the key for %s: %w", purpose, err))
	}
	return key
}

// Format writes `[redacted]` for every verb and flag.
func (k Keyring) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

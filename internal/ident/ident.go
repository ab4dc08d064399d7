// Package ident makes the identifiers and secrets of the service from an injected source of
// randomness. All of them are unguessable, with 122 bits or more, except share ids with 71 bits
// (abuse case C39) and the digits of mailed codes.
package ident

import (
	"encoding/hex"
	"fmt"
	"io"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Source makes identifiers from a reader of random bytes. It is safe for concurrent use if the
// reader is.
type Source struct{ random io.Reader }

// New returns a Source that reads from random, which is crypto/rand.Reader outside tests.
func New(random io.Reader) *Source { return &Source{random: random} }

// UUID returns a random version 4 UUID in its text form, 36 characters (RFC 9562, section 5.4).
func (s *Source) UUID() string {
	var b [16]byte
	s.fill(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// Hex returns n random bytes as 2n lower-case hexadecimal digits.
func (s *Source) Hex(n int) string { return hex.EncodeToString(s.Bytes(n)) }

// Bytes returns n random bytes.
func (s *Source) Bytes(n int) []byte {
	b := make([]byte, n)
	s.fill(b)
	return b
}

// Base62 returns n characters of [0-9A-Za-z], each equally likely: 5.95 bits a character.
func (s *Source) Base62(n int) string {
	const fair = 256 - 256%len(base62) // larger bytes would favour the first characters
	out := make([]byte, 0, n)
	buf := make([]byte, n+n/2+4)
	for len(out) < n {
		s.fill(buf)
		for _, b := range buf {
			if int(b) < fair && len(out) < n {
				out = append(out, base62[int(b)%len(base62)])
			}
		}
	}
	return string(out)
}

// Digits returns n decimal digits, each equally likely: 3.32 bits a digit. It is for values that
// allow only a few tries.
func (s *Source) Digits(n int) string {
	const fair = 250 // larger bytes would favour the first digits
	out := make([]byte, 0, n)
	buf := make([]byte, n+4)
	for len(out) < n {
		s.fill(buf)
		for _, b := range buf {
			if b < fair && len(out) < n {
				out = append(out, '0'+b%10)
			}
		}
	}
	return string(out)
}

// KeyID returns the public half of an API key, `pk_` and 24 characters.
func (s *Source) KeyID() string { return "pk_" + s.Base62(24) }

// KeySecret returns the secret half of an API key, `sk_` and 48 characters.
func (s *Source) KeySecret() string { return "sk_" + s.Base62(48) }

// fill fills b with random bytes. It panics when the source fails, since nothing that follows would
// be safe without randomness.
func (s *Source) fill(b []byte) {
	if _, err := io.ReadFull(s.random, b); err != nil {
		panic(fmt.Errorf("read randomness: %w", err))
	}
}

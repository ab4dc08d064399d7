package secret

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// KeyBytes is the length of a master key and of every key derived from it, in bytes.
const KeyBytes = 32

// minDistinctBytes is the least number of different values among the bytes of a key. Of 32 random
// bytes about 30 differ; fewer than 16 occur less than once in 10^15 keys.
const minDistinctBytes = 16

// exampleWords occur in keys that were copied from an example.
var exampleWords = []string{"changeme", "change-me", "change_me", "password", "secret", "default", "example", "larder"}

// ErrWeakKey is wrapped by the errors of ParseKey, CheckKey and New for a key that can be guessed.
var ErrWeakKey = errors.New("the key can be guessed")

// ParseKey decodes a master key from base64 (RFC 4648, the standard or the URL alphabet, with or
// without padding) and checks it as CheckKey does. No error contains a part of the key.
func ParseKey(text string) ([]byte, error) {
	text = strings.TrimRight(text, "=")
	alphabet := base64.RawStdEncoding
	if strings.ContainsAny(text, "-_") {
		alphabet = base64.RawURLEncoding
	}
	key, err := alphabet.DecodeString(text)
	if err != nil {
		return nil, errors.New("the key is not base64")
	}
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	return key, nil
}

// CheckKey refuses a master key that is not KeyBytes long or that looks hand-made: a repeated byte
// or pattern, a sequence of bytes, or readable text (abuse case C117). It refuses a random key less
// than once in 10^10 times.
func CheckKey(key []byte) error {
	switch {
	case len(key) == 0:
		return fmt.Errorf("%w: it is empty", ErrWeakKey)
	case len(key) < KeyBytes:
		return fmt.Errorf("%w: it has %d bytes instead of %d", ErrWeakKey, len(key), KeyBytes)
	case len(key) > KeyBytes:
		return fmt.Errorf("the key has %d bytes instead of %d", len(key), KeyBytes)
	case repeatsPattern(key):
		return fmt.Errorf("%w: it repeats a short pattern", ErrWeakKey)
	case isSequence(key):
		return fmt.Errorf("%w: its bytes merely count", ErrWeakKey)
	case isReadableText(key):
		return fmt.Errorf("%w: it is readable text", ErrWeakKey)
	case countDistinct(key) < minDistinctBytes:
		return fmt.Errorf("%w: it has too few different bytes", ErrWeakKey)
	}
	return nil
}

// repeatsPattern reports whether key repeats a pattern of at most half its length.
func repeatsPattern(key []byte) bool {
	for period := 1; period <= len(key)/2; period++ {
		if bytes.Equal(key[period:], key[:len(key)-period]) {
			return true
		}
	}
	return false
}

// isSequence reports whether all neighbouring bytes differ by the same step.
func isSequence(key []byte) bool {
	step := key[1] - key[0]
	for i := 2; i < len(key); i++ {
		if key[i]-key[i-1] != step {
			return false
		}
	}
	return true
}

// isReadableText reports whether key consists of printable ASCII alone, or contains one of
// exampleWords in any case.
func isReadableText(key []byte) bool {
	lower := bytes.ToLower(key)
	for _, word := range exampleWords {
		if bytes.Contains(lower, []byte(word)) {
			return true
		}
	}
	return bytes.IndexFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// countDistinct returns the number of different values among the bytes of key.
func countDistinct(key []byte) int {
	var seen [256]bool
	n := 0
	for _, b := range key {
		if !seen[b] {
			seen[b] = true
			n++
		}
	}
	return n
}

package secret_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"larder/internal/secret"
)

// goodKey returns a constant key that looks random:
// 046e85399810d514d229702bfbdb9857c692b88d8f5d43e3783db6c6b2fe3286.
func goodKey() []byte {
	sum := sha256.Sum256([]byte("larder test master"))
	return sum[:]
}

func newRing(t *testing.T) *secret.Keyring {
	t.Helper()
	ring, err := secret.New(goodKey())
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// sequence returns 0, step, 2·step, ... modulo 256.
func sequence(step int) []byte {
	key := make([]byte, 32)
	for i := range key {
		key[i] = byte(i * step)
	}
	return key
}

// distinctBytes returns a key of n different byte values without a repeated pattern of 16 or fewer.
func distinctBytes(n int) []byte {
	key := make([]byte, 32)
	for i := range key {
		key[i] = byte(i * 37)
		if i >= n {
			key[i] = byte(i * i % n * 37)
		}
	}
	return key
}

// Abuse case C117: short, empty and default-looking keys.
func TestWeakKeysAreRefused(t *testing.T) {
	t.Parallel()
	good := goodKey()
	tests := map[string]struct {
		key  []byte
		weak bool
	}{
		"random":                           {good, false},
		"empty":                            {nil, true},
		"31 bytes":                         {good[:31], true},
		"zeros":                            {make([]byte, 32), true},
		"one byte":                         {bytes.Repeat([]byte{0xa7}, 32), true},
		"two bytes repeated":               {bytes.Repeat([]byte{0xde, 0xad}, 16), true},
		"three bytes repeated":             {bytes.Repeat([]byte{0xde, 0xad, 1}, 11)[:32], true},
		"half a random key, twice":         {bytes.Repeat(good[8:24], 2), true},
		"period 17":                        {append(append([]byte{}, good[:17]...), good[:15]...), false},
		"counting up":                      {sequence(1), true},
		"counting down by three":           {sequence(-3), true},
		"a sequence with one byte changed": {append(sequence(1)[:31], 7), false},
		"readable":                         {[]byte("Tr0ub4dor&3 correct horse batter"), true},
		"readable except for one byte":     {[]byte("Tr0ub4dor&3 correct horse batte\x80"), false},
		"changeme among random bytes":      {append(append([]byte{}, good[:24]...), "ChangeMe"...), true},
		"changemu among random bytes":      {append(append([]byte{}, good[:24]...), "ChangeMu"...), false},
		"15 different bytes":               {distinctBytes(15), true},
		"16 different bytes":               {distinctBytes(16), false},
		"a short text padded by zeros":     {append([]byte("Tr0ub4dor&3"), make([]byte, 21)...), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := secret.New(tt.key)
			if got := errors.Is(err, secret.ErrWeakKey); got != tt.weak || (err != nil) != tt.weak {
				t.Errorf("New: error %v, want one: %v", err, tt.weak)
			}
		})
	}
	if _, err := secret.New(append(goodKey(), 1)); err == nil || errors.Is(err, secret.ErrWeakKey) {
		t.Errorf("New with 33 bytes: %v, want an error about the length", err)
	}
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	const text = "BG6FOZgQ1RTSKXAr+9uYV8aSuI2PXUPjeD22xrL+MoY=" // goodKey
	tests := map[string]struct {
		text string
		ok   bool
	}{
		"padded":            {text, true},
		"unpadded":          {strings.TrimRight(text, "="), true},
		"URL alphabet":      {strings.ReplaceAll(text, "+", "-"), true},
		"both alphabets":    {strings.Replace(text, "+", "-", 1), false},
		"empty":             {"", false},
		"hexadecimal":       {hex.EncodeToString(goodKey()), false},
		"not base64":        {"correct horse battery staple", false},
		"a word":            {"changeme", false},
		"one byte missing":  {base64.StdEncoding.EncodeToString(goodKey()[:31]), false},
		"one byte too many": {base64.StdEncoding.EncodeToString(append(goodKey(), 1)), false},
		"zeros":             {strings.Repeat("A", 43) + "=", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, err := secret.ParseKey(tt.text)
			if (err == nil) != tt.ok {
				t.Fatalf("error %v, want success: %v", err, tt.ok)
			}
			if tt.ok && !bytes.Equal(key, goodKey()) {
				t.Errorf("key %x", key)
			}
			if err != nil && tt.text != "" && strings.Contains(err.Error(), tt.text) {
				t.Errorf("the error repeats the key: %v", err)
			}
		})
	}
}

// The expected values were computed without this code (with Python's hmac and cryptography): stored
// values must open after an update.
func TestStoredFormsAreStable(t *testing.T) {
	t.Parallel()
	ring := newRing(t)
	if got := hex.EncodeToString(
		ring.Key("session")); got != "1eaf82ed4278887cc5f105422bdcecc0e3bb597c84ea1ef6464a735b7a8e5678" {
		t.Errorf("Key = %s", got)
	}
	if got := ring.Fingerprint(); got != "43197b88d07081e7" {
		t.Errorf("Fingerprint = %s", got)
	}
	if got := ring.Sign("share", []byte("hi|1")); got != "aGl8MQ.2ga_CO_8Fnd4UqfCo7osO3CUDz2FPUny9fX4yoRBsJI" {
		t.Errorf("Sign = %s", got)
	}
	plain, err := ring.Open("provider", "row-1", "v1.AAECAwQFBgcICQoLtaAhP20toI22weWUMwjFNvLdBYg")
	if err != nil || string(plain) != "AKIA" {
		t.Errorf("Open = %q, %v", plain, err)
	}
}

func TestKeysDiffer(t *testing.T) {
	t.Parallel()
	other := goodKey()
	other[31]++
	otherRing, err := secret.New(other)
	if err != nil {
		t.Fatal(err)
	}
	ring := newRing(t)
	keys := [][]byte{ring.Key("session"), ring.Key("csrf"), ring.Key("session "), otherRing.Key("session"), goodKey()}
	for i, a := range keys {
		if len(a) != 32 {
			t.Errorf("key %d has %d bytes", i, len(a))
		}
		for _, b := range keys[i+1:] {
			if bytes.Equal(a, b) {
				t.Errorf("key %d occurs twice", i)
			}
		}
	}
	if ring.Fingerprint() == otherRing.Fingerprint() {
		t.Error("two master keys share a fingerprint")
	}
}

// The keyring must not change when the caller wipes or reuses its buffer.
func TestKeyringDoesNotAliasTheMasterKey(t *testing.T) {
	t.Parallel()
	master := goodKey()
	ring, err := secret.New(master)
	if err != nil {
		t.Fatal(err)
	}
	clear(master)
	if !bytes.Equal(ring.Key("session"), newRing(t).Key("session")) {
		t.Error("the derived keys changed with the caller's buffer")
	}
}

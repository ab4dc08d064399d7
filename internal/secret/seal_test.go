package secret_test

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"larder/internal/secret"
)

// Abuse case C116: a ciphertext cannot be opened in another row, for another purpose or with
// another master key.
func TestSealedValueIsBoundToItsRecord(t *testing.T) {
	t.Parallel()
	ring := newRing(t)
	otherKey := goodKey()
	otherKey[0]++
	other, err := secret.New(otherKey)
	if err != nil {
		t.Fatal(err)
	}
	plain := []byte("wJalrXUtnFEMI/K7MDENG")
	sealed, err := ring.Seal("provider", "row-1", plain)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		ring            *secret.Keyring
		purpose, record string
		sealed          string
		opens           bool
	}{
		"same":                        {ring, "provider", "row-1", sealed, true},
		"other record":                {ring, "provider", "row-2", sealed, false},
		"no record":                   {ring, "provider", "", sealed, false},
		"other purpose":               {ring, "smtp", "row-1", sealed, false},
		"boundary moved":              {ring, "provider/row-1", "", sealed, false},
		"other master key":            {other, "provider", "row-1", sealed, false},
		"cut":                         {ring, "provider", "row-1", sealed[:len(sealed)-2], false},
		"longer":                      {ring, "provider", "row-1", sealed + "AA", false},
		"empty":                       {ring, "provider", "row-1", "", false},
		"nothing but the version":     {ring, "provider", "row-1", "v1.", false},
		"no version":                  {ring, "provider", "row-1", sealed[3:], false},
		"plain text left from before": {ring, "provider", "row-1", string(plain), false},
		"not base64":                  {ring, "provider", "row-1", "v1.***", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.ring.Open(tt.purpose, tt.record, tt.sealed)
			if tt.opens {
				if err != nil || !bytes.Equal(got, plain) {
					t.Errorf("Open = %q, %v", got, err)
				}
			} else if !errors.Is(err, secret.ErrForged) || got != nil {
				t.Errorf("Open = %q, %v; want ErrForged", got, err)
			}
		})
	}
}

func TestEveryBitOfASealedValueCounts(t *testing.T) {
	t.Parallel()
	ring := newRing(t)
	sealed, err := ring.Seal("provider", "row-1", []byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range sealed {
		changed := []byte(sealed)
		changed[i] = 'A'
		if sealed[i] == 'A' {
			changed[i] = 'B'
		}
		if _, err := ring.Open("provider", "row-1", string(changed)); !errors.Is(err, secret.ErrForged) {
			t.Errorf("opens with character %d changed: %v", i, err)
		}
	}
}

// The last character of 31 bytes in base64 has four unused bits. Other spellings of the same bytes
// are refused.
func TestSealedValueHasOneSpelling(t *testing.T) {
	t.Parallel()
	ring := newRing(t)
	sealed, err := ring.Seal("provider", "row-1", []byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	for _, last := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
		if _, err := ring.Open("provider", "row-1", sealed[:len(sealed)-1]+string(last)); err == nil {
			opened++
		}
	}
	if opened != 1 {
		t.Errorf("%d spellings open", opened)
	}
}

func TestSealHidesItsPlain(t *testing.T) {
	t.Parallel()
	ring := newRing(t)
	shape := regexp.MustCompile(`^v1\.[A-Za-z0-9_-]+$`)
	seen := map[string]bool{}
	for range 100 {
		sealed, err := ring.Seal("provider", "row-1", []byte("same"))
		if err != nil {
			t.Fatal(err)
		}
		if seen[sealed] {
			t.Fatal("two encryptions of one plaintext are equal: a nonce was repeated")
		}
		seen[sealed] = true
		if !shape.MatchString(sealed) || strings.Contains(sealed, "same") {
			t.Fatalf("sealed = %q", sealed)
		}
	}
	for _, plain := range []string{"", "\x00", strings.Repeat("x", 100_000)} {
		sealed, err := ring.Seal("provider", "", []byte(plain))
		if err != nil {
			t.Fatal(err)
		}
		got, err := ring.Open("provider", "", sealed)
		if err != nil || string(got) != plain {
			t.Errorf("%d bytes come back as %d, %v", len(plain), len(got), err)
		}
	}
}

// Abuse case C40: a token for one purpose is not valid for another.
func TestSignedTokens(t *testing.T) {
	t.Parallel()
	ring := newRing(t)
	otherKey := goodKey()
	otherKey[0]++
	other, err := secret.New(otherKey)
	if err != nil {
		t.Fatal(err)
	}
	token := ring.Sign("share", []byte(`{"share":"abc"}`))
	empty := ring.Sign("share", nil)
	body, mac, _ := strings.Cut(token, ".")
	tests := map[string]struct {
		ring           *secret.Keyring
		purpose, token string
		payload        string
		ok             bool
	}{
		"as signed":           {ring, "share", token, `{"share":"abc"}`, true},
		"empty payload":       {ring, "share", empty, "", true},
		"other purpose":       {ring, "csrf", token, "", false},
		"other master key":    {other, "share", token, "", false},
		"other payload":       {ring, "share", "eHl6." + mac, "", false},
		"no signature":        {ring, "share", body, "", false},
		"empty signature":     {ring, "share", body + ".", "", false},
		"cut signature":       {ring, "share", token[:len(token)-1], "", false},
		"longer signature":    {ring, "share", token + "A", "", false},
		"newline in payload":  {ring, "share", body[:4] + "\n" + body[4:] + "." + mac, "", false},
		"newline at the end":  {ring, "share", token + "\n", "", false},
		"padded payload":      {ring, "share", body + "=." + mac, "", false},
		"empty":               {ring, "share", "", "", false},
		"a dot":               {ring, "share", ".", "", false},
		"a payload in clear":  {ring, "share", `{"share":"abc"}.` + mac, "", false},
		"key of Key, not MAC": {ring, "share", body + "." + string(ring.Key("share")), "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.ring.Verify(tt.purpose, tt.token)
			if tt.ok {
				if err != nil || string(got) != tt.payload {
					t.Errorf("Verify = %q, %v", got, err)
				}
			} else if !errors.Is(err, secret.ErrForged) || got != nil {
				t.Errorf("Verify = %q, %v; want ErrForged", got, err)
			}
		})
	}
}

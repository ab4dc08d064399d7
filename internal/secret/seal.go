package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// ErrForged means that a sealed value or a signed token was not made with this key for this purpose
// and record. It does not say which of them differs.
var ErrForged = errors.New("not made with this key for this purpose")

// sealVersion is the prefix of every sealed value. It allows another cipher later.
const sealVersion = "v1."

var encoding = base64.RawURLEncoding.Strict()

// Seal encrypts plain with AES-256-GCM under the key for purpose and binds it to recordID, the id
// of the row that will hold it. Each call uses a random nonce of 96 bits, so the same plain gives
// different results; a purpose allows up to 2^32 values. The result consists of letters, digits,
// `.`, `-` and `_`, and is about 4/3 of the length of plain plus 41 characters.
func (k Keyring) Seal(purpose, recordID string, plain []byte) (string, error) {
	aead, err := k.aead(purpose)
	if err != nil {
		return "", err
	}
	return sealVersion + encoding.EncodeToString(aead.Seal(nil, nil, plain, additionalData(purpose, recordID))), nil
}

// Open returns the plain value that Seal was given for the same purpose and record. Error:
// ErrForged for every other value.
func (k Keyring) Open(purpose, recordID, sealed string) ([]byte, error) {
	aead, err := k.aead(purpose)
	if err != nil {
		return nil, err
	}
	text, ok := strings.CutPrefix(sealed, sealVersion)
	if !ok {
		return nil, ErrForged
	}
	box, err := encoding.DecodeString(text)
	if err != nil {
		return nil, ErrForged
	}
	plain, err := aead.Open(nil, nil, box, additionalData(purpose, recordID))
	if err != nil {
		return nil, ErrForged
	}
	return plain, nil
}

// Sign returns a token that contains payload readably (in base64) and proves by HMAC-SHA256 that
// this service made it for purpose. Limits of the token, such as its expiry, must be part of the
// payload, and the caller checks them. The token can be used as a cookie value.
func (k Keyring) Sign(purpose string, payload []byte) string {
	body := encoding.EncodeToString(payload)
	return body + "." + k.mac(purpose, body)
}

// Verify returns the payload of a token that Sign made for the same purpose, with this key or with
// the former one of WithFormer. Error: ErrForged for every other token. The comparison takes
// constant time, and each payload has exactly one valid encoding.
func (k Keyring) Verify(purpose, token string) ([]byte, error) {
	body, mac, ok := strings.Cut(token, ".")
	if !ok || !hmac.Equal([]byte(mac), []byte(k.mac(purpose, body))) && !k.signedByFormer(purpose, body, mac) {
		return nil, ErrForged
	}
	payload, err := encoding.DecodeString(body)
	if err != nil {
		return nil, ErrForged
	}
	return payload, nil
}

// aead returns the cipher for the values of a purpose: AES-GCM with a key that is derived from the
// purpose. It puts a random nonce before each sealed value.
func (k Keyring) aead(purpose string) (cipher.AEAD, error) {
	block, err := aes.NewCipher(k.derive("seal", purpose))
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return aead, nil
}

// additionalData returns the text that binds a sealed value to its purpose and record. The length
// separates the two.
func additionalData(purpose, recordID string) []byte {
	return fmt.Appendf(nil, "larder/1/%d/%s/%s", len(purpose), purpose, recordID)
}

// mac returns the signature of the body of a token for a purpose.
func (k Keyring) mac(purpose, body string) string { return macWith(k.derive("sign", purpose), body) }

// macWith returns the HMAC-SHA256 of a token's body in base64.
func macWith(key []byte, body string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(body))
	return encoding.EncodeToString(h.Sum(nil))
}

// signedByFormer reports whether the former key of WithFormer made mac for the body of a token, and
// its time is not over.
func (k Keyring) signedByFormer(purpose, body, mac string) bool {
	key, kept := k.former.Keys[purpose]
	return kept && k.now().Before(k.former.Until) && hmac.Equal([]byte(mac), []byte(macWith(key, body)))
}

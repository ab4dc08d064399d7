package account

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/crypto/argon2"

	"larder/internal/fault"
	"larder/internal/secret"
)

// The cost of a new hash: argon2id with 2 passes over 19 MiB in one lane, about 30 ms. A stored
// hash carries the cost that it was made with.
const (
	hashPasses  = 2
	hashMemory  = 19 << 10 // KiB, unless Config.HashMemory is set
	hashLanes   = 1
	hashBytes   = 32
	saltBytes   = 16
	maxPasses   = 16
	maxMemory   = 256 << 10
	maxLanes    = 16
	phcTemplate = "$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s"
)

var phcEncoding = base64.RawStdEncoding.Strict()

// HashPassword returns the argon2id hash of a password in PHC form. It serves accounts, and the
// passwords of files, rules and shares. It does not check the minimum length (see CheckPassword).
// It waits for its turn among the hashes of all sources; source is the caller on whose behalf it
// is. Faults: Invalid for an empty password, for more than 128 characters and for more than 512
// bytes, before any hashing; RateLimited when too many hashes wait.
func (s *Service) HashPassword(ctx context.Context, source Source, password secret.Text) (string, error) {
	if password == "" || tooLong(password) {
		return "", fault.New(fault.Invalid, "A password must not be empty and has at most 128 characters and 512 "+
			"bytes.")
	}
	h := s.newHash()
	if _, err := io.ReadFull(s.random, h.salt); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	sum, err := s.computeHash(ctx, source, h, password, hashBytes)
	if err != nil {
		return "", err
	}
	h.sum = sum
	return h.String(), nil
}

// VerifyPassword reports whether stored, in PHC form, is the hash of password. It returns false
// without hashing for a password that is too long. It waits for its turn as HashPassword does.
// Fault: RateLimited.
func (s *Service) VerifyPassword(ctx context.Context, source Source, stored string,
	password secret.Text) (bool, error) {
	h, err := parseHash(stored)
	if err != nil {
		return false, err
	}
	if tooLong(password) {
		return false, nil
	}
	sum, err := s.computeHash(ctx, source, h, password, len(h.sum))
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(sum, h.sum) == 1, nil
}

// computeHash computes the hash of password, length bytes, with the salt and the cost of h, once
// source has its turn. Fault: RateLimited.
func (s *Service) computeHash(ctx context.Context, source Source, h hash, password secret.Text,
	length int) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	leave, err := s.hashing.acquire(ctx, source)
	if err != nil {
		return nil, err
	}
	defer leave()
	if s.onHash != nil {
		s.onHash(source)
	}
	return argon2.IDKey([]byte(password.Reveal()), h.salt, h.passes, h.memory, h.lanes, uint32(length)), nil
}

// newHash returns a hash with the cost of this service, a salt of zeros that the caller overwrites,
// and no sum yet.
func (s *Service) newHash() hash {
	return hash{passes: hashPasses, memory: s.hashMemory, lanes: hashLanes, salt: make([]byte, saltBytes)}
}

// dummyHash returns a hash to verify when there is no such user, so that the answer takes as long
// as for a wrong password. No known password matches it, and callers ignore the result.
func (s *Service) dummyHash() string {
	h := s.newHash()
	h.sum = make([]byte, hashBytes)
	return h.String()
}

// hash is a parsed password hash.
type hash struct {
	passes, memory uint32 // memory in KiB
	lanes          uint8
	salt, sum      []byte
}

// String returns the PHC form: `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>`, both in base64
// without padding.
func (h hash) String() string {
	return fmt.Sprintf(phcTemplate, argon2.Version, h.memory, h.passes, h.lanes, phcEncoding.EncodeToString(h.salt),
		phcEncoding.EncodeToString(h.sum))
}

// parseHash parses the PHC form of a password hash, and refuses costs that would take too long. Its
// errors do not quote the hash.
func parseHash(s string) (hash, error) {
	malformed := errors.New("malformed password hash")
	parts := strings.Split(s, "$")
	if len(parts) != 6 {
		return hash{}, malformed
	}
	var h hash
	var version int
	if _, err := fmt.Sscanf(strings.Join(parts[:4], "$"), "$argon2id$v=%d$m=%d,t=%d,p=%d", &version, &h.memory,
		&h.passes, &h.lanes); err != nil {
		return hash{}, malformed
	}
	var saltErr, sumErr error
	h.salt, saltErr = phcEncoding.DecodeString(parts[4])
	h.sum, sumErr = phcEncoding.DecodeString(parts[5])
	switch {
	case saltErr != nil || sumErr != nil || len(h.salt) < 8 || len(h.sum) < 16 || len(h.sum) > 64:
		return hash{}, malformed
	case version != argon2.Version || h.String() != s:
		return hash{}, malformed
	case h.passes < 1 || h.passes > maxPasses || h.memory > maxMemory || h.lanes < 1 || h.lanes > maxLanes:
		return hash{}, malformed
	}
	return h, nil
}

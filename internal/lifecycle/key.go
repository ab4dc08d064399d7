package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"larder/internal/account"
	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/freemode"
	"larder/internal/provider"
	"larder/internal/secret"
	"larder/internal/site"
)

// ErrWrongKey refuses a start with another master key than that of the database: sealed columns
// could not be read, and every session would end (abuse case C116).
var ErrWrongKey = errors.New(
	"the secret key is not the one of this database: give the LARDER_SECRET_KEY that it was made with, the new one " +
		"if `larder rotate-key` has replaced it, or restore the key file in the data directory")

// CheckKey compares the fingerprint of the master key (16 hexadecimal digits) with that of the key
// of the database; the first start records it. Error: ErrWrongKey.
func (s *Service) CheckKey(ctx context.Context, fingerprint string) error {
	given, err := fingerprintNumber(fingerprint)
	if err != nil {
		return err
	}
	return s.cfg.DB.Write(ctx, func(tx *db.Tx) error {
		noted, err := recordKeyFingerprint(tx, given)
		if err != nil {
			return fmt.Errorf("look up the key's fingerprint: %w", err)
		}
		if noted != given {
			return ErrWrongKey
		}
		return nil
	})
}

// RecheckKey returns ErrWrongKey when the master key of the database was replaced since this
// process began to serve with the key that has the given fingerprint. It only reads.
func (s *Service) RecheckKey(ctx context.Context, fingerprint string) error {
	given, err := fingerprintNumber(fingerprint)
	if err != nil {
		return err
	}
	noted, err := keyFingerprint(s.cfg.DB.Read(ctx))
	if err != nil {
		return fmt.Errorf("look up the key's fingerprint: %w", err)
	}
	if noted != given {
		return ErrWrongKey
	}
	return nil
}

// RotateKey replaces the master key rotation.From of the database by rotation.To, in one
// transaction: it seals every sealed value anew, keeps former, by which tokens of the old key are
// still accepted, and ends all sessions. It counts the values in rotation, and reports false when
// rotation.To is the key of the database already. Errors: ErrWrongKey, when the database has
// neither of both keys; db.ErrReplicaRunning.
func (s *Service) RotateKey(ctx context.Context, rotation *secret.Rotation, former secret.Former) (bool, error) {
	from, err := fingerprintNumber(rotation.From.Fingerprint())
	if err != nil {
		return false, err
	}
	to, err := fingerprintNumber(rotation.To.Fingerprint())
	if err != nil {
		return false, err
	}
	rotated := false
	err = s.cfg.DB.Write(ctx, func(tx *db.Tx) error {
		rotation.Sealed, rotation.Unreadable = 0, 0
		noted, err := recordKeyFingerprint(tx, from)
		switch {
		case err != nil:
			return fmt.Errorf("look up the key's fingerprint: %w", err)
		case noted == to:
			rotated = false
			return nil
		case noted != from:
			return ErrWrongKey
		}
		// after the row of the key is locked: a server joins first and then looks at this row
		if err := tx.CheckNoReplica(); err != nil {
			return err
		}
		if err := s.seal(tx, rotation, former); err != nil {
			return err
		}
		if err := replaceKeyFingerprint(tx, to); err != nil {
			return fmt.Errorf("record the new key's fingerprint: %w", err)
		}
		crash.Point("rotate.sealed")
		rotated = true
		return tx.BumpConfig()
	})
	return rotated && err == nil, err
}

// seal seals every encrypted column anew with rotation.To. A package that seals values has a call
// here.
func (s *Service) seal(tx *db.Tx, rotation *secret.Rotation, former secret.Former) error {
	if err := provider.Reseal(tx, rotation); err != nil {
		return err
	}
	if err := site.Reseal(tx, rotation, former); err != nil {
		return err
	}
	if err := freemode.Reseal(tx, rotation); err != nil {
		return err
	}
	return account.AfterRotation(tx, s.cfg.Now().UnixMilli())
}

// fingerprintNumber converts a fingerprint, 16 hexadecimal digits, to the number that the database
// stores.
func fingerprintNumber(fingerprint string) (int64, error) {
	n, err := strconv.ParseUint(fingerprint, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("read the key's fingerprint: %w", err)
	}
	return int64(n), nil
}

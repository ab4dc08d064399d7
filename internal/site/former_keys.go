package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"larder/internal/db"
	"larder/internal/secret"
)

// After a rotation of the master key a row of the settings keeps the keys that verify tokens of the
// former one, sealed with the new one, until the last of these tokens has ended. All replicas read
// it at their start. It is no setting: load ignores it, and so do replicas that do not know it.

// formerKeysName is the name of the row.
const formerKeysName = "formerKeys"

// formerKeys is the content of the row, as JSON.
type formerKeys struct {
	Until int64             // ms
	Keys  map[string][]byte // by purpose
}

// Reseal seals the secret settings with the new key of a rotation, and keeps the keys that verify
// tokens of the former one. Keys of an earlier rotation are dropped.
func Reseal(tx *db.Tx, rotation *secret.Rotation, former secret.Former) error {
	text, err := readSetting(tx, passwordField)
	if err == nil {
		err = resealPassword(tx, rotation, text)
	}
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		return fmt.Errorf("seal the settings anew: %w", err)
	}
	plain, err := json.Marshal(formerKeys{former.Until.UnixMilli(), former.Keys})
	if err != nil {
		return fmt.Errorf("keep the former keys: %w", err)
	}
	sealed, err := rotation.To.Seal(sealPurpose, formerKeysName, plain)
	if err == nil {
		err = writeJSONSetting(tx, formerKeysName, sealed)
	}
	if err != nil {
		return fmt.Errorf("keep the former keys: %w", err)
	}
	return nil
}

// resealPassword seals the mail password, whose row has the JSON text, with the new key and writes
// it.
func resealPassword(tx *db.Tx, rotation *secret.Rotation, text string) error {
	var sealed string
	if err := json.Unmarshal([]byte(text), &sealed); err != nil {
		return err
	}
	sealed, err := rotation.Reseal(sealPurpose, passwordField, sealed)
	if err != nil {
		return err
	}
	return writeJSONSetting(tx, passwordField, sealed)
}

// FormerKeys returns the keys that Reseal has kept, by which tokens of the former master key are
// still accepted. It returns none when there was no rotation, and for a row that the present key
// does not open.
func (s *Store) FormerKeys(ctx context.Context) (secret.Former, error) {
	text, err := readSetting(s.db.Read(ctx), formerKeysName)
	if errors.Is(err, db.ErrNoRows) {
		return secret.Former{}, nil
	}
	if err != nil {
		return secret.Former{}, fmt.Errorf("read the former keys: %w", err)
	}
	var sealed string
	if err := json.Unmarshal([]byte(text), &sealed); err != nil {
		return secret.Former{}, fmt.Errorf("read the former keys: %w", err)
	}
	plain, err := s.keys.Open(sealPurpose, formerKeysName, sealed)
	if errors.Is(err, secret.ErrForged) {
		return secret.Former{}, nil
	}
	var kept formerKeys
	if err == nil {
		err = json.Unmarshal(plain, &kept)
	}
	if err != nil {
		return secret.Former{}, fmt.Errorf("read the former keys: %w", err)
	}
	return secret.Former{Keys: kept.Keys, Until: time.UnixMilli(kept.Until)}, nil
}

// SweepFormerKeys deletes the kept keys whose time is over.
func (s *Store) SweepFormerKeys(ctx context.Context, now time.Time) error {
	former, err := s.FormerKeys(ctx)
	if err != nil || former.Until.IsZero() || now.Before(former.Until) {
		return err
	}
	return s.db.Write(ctx, deleteFormerKeys)
}

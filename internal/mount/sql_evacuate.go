package mount

import (
	"fmt"

	"larder/internal/db"
)

// Evacuate marks the mounts on a provider (only the mount mountID unless that is "") for an
// evacuation: they store new objects in the provider target until the evacuation with the id
// evacuationID ends. It raises the config version.
func (s *Store) Evacuate(tx *db.Tx, providerID, mountID, target, evacuationID string) error {
	_, err := tx.Exec(`
		UPDATE mounts
		SET evacuate_to = $1, evacuation_id = $2
		WHERE provider_id = $3 AND (id = $4 OR $4 = '')`, target, evacuationID, providerID, mountID)
	if err != nil {
		return fmt.Errorf("evacuate mounts: %w", err)
	}
	return tx.BumpConfig()
}

// FinishEvacuation ends a completed evacuation for its mounts: the provider that new objects
// already go to becomes theirs. It raises the config version.
func (s *Store) FinishEvacuation(tx *db.Tx, evacuationID string) error {
	return endEvacuation(tx, "provider_id = evacuate_to, ", evacuationID)
}

// CancelEvacuation ends a failed evacuation for its mounts: new objects go to the former provider
// again. It raises the config version.
func (s *Store) CancelEvacuation(tx *db.Tx, evacuationID string) error {
	return endEvacuation(tx, "", evacuationID)
}

// endEvacuation removes the marks of an evacuation from its mounts and raises the config version.
// set is SQL that assigns other columns in the same statement, "" for none.
func endEvacuation(tx *db.Tx, set, evacuationID string) error {
	_, err := tx.Exec("UPDATE mounts SET "+set+"evacuate_to = NULL, evacuation_id = NULL WHERE evacuation_id = $1",
		evacuationID)
	if err != nil {
		return fmt.Errorf("end the evacuation of mounts: %w", err)
	}
	return tx.BumpConfig()
}

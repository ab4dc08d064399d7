package provider

import (
	"fmt"

	"larder/internal/db"
)

// Evacuate records that the job evacuationID moves all objects of the provider id to the provider
// target. It raises the config version. Fault: NotFound.
func (r *Registry) Evacuate(tx *db.Tx, id, target, evacuationID string) error {
	n, err := tx.Exec("UPDATE providers SET evacuation_id = $1, evacuate_to = $2 WHERE id = $3", evacuationID, target,
		id)
	return finishChange(tx, "evacuate provider", n, err)
}

// EndEvacuation records that the evacuation by the job evacuationID has ended. It raises the config
// version.
func (r *Registry) EndEvacuation(tx *db.Tx, evacuationID string) error {
	_, err := tx.Exec("UPDATE providers SET evacuation_id = NULL, evacuate_to = NULL WHERE evacuation_id = $1",
		evacuationID)
	if err != nil {
		return fmt.Errorf("end the evacuation of a provider: %w", err)
	}
	return tx.BumpConfig()
}

// IsEvacuationTarget reports whether a provider gets the objects of another one that is being
// evacuated.
func IsEvacuationTarget(q db.Querier, id string) (is bool, err error) {
	err = q.QueryRow("SELECT EXISTS (SELECT 1 FROM providers WHERE evacuate_to = $1)", id).Scan(&is)
	if err != nil {
		return false, fmt.Errorf("look for an evacuation to a provider: %w", err)
	}
	return is, nil
}

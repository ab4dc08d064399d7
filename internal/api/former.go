package api

import (
	"time"

	"larder/internal/secret"
)

// FormerKeys returns the part of the old master key that is still needed when the key is rotated at
// a time: the keys that verify the cookies of given passwords, until the last of these cookies has
// ended. No other value of a client that outlives the rotation is signed with the master key.
func FormerKeys(old *secret.Keyring, at time.Time) secret.Former {
	return old.Former(at.Add(proofLifetime), proofPurpose, shareProofPurpose)
}

package main

const rotateStory = "^TestRotateKey$/^sqlite$"

// rotateGuards are the guards of `larder rotate-key`: every value is sealed anew, no server works
// with the old key, and the old key verifies only what lasts.
var rotateGuards = []mutation{
	{"rotate-provider", "credentials of providers are sealed anew", "internal/provider/sql.go",
		`rotation.Reseal(sealPurpose, p.id, p.secretKey)`, `p.secretKey, error(nil)`, "e2e", rotateStory},
	{"rotate-freemode", "free-mode sessions are sealed anew", "internal/freemode/sql.go",
		`rotation.Reseal(sealPurpose, s.hash, s.place)`, `s.place, error(nil)`, "e2e", rotateStory},
	{"rotate-settings", "the password of the mail server is sealed anew", "internal/site/former_keys.go",
		`rotation.Reseal(sealPurpose, passwordField, sealed)`, `sealed, error(nil)`, "internal/site",
		"^TestFormerKeys$/^sqlite$"},
	{"rotate-sessions", "sessions of the old key are not listed", "internal/account/sql_sessions.go",
		`SET expires_at = $1 WHERE expires_at > $1"`, `SET expires_at = $1 WHERE expires_at > $1 AND id = ''"`, "e2e",
		rotateStory},
	{"rotate-replica", "the key is not replaced while a server runs", "internal/lifecycle/key.go",
		`err := tx.CheckNoReplica(); err != nil {`, `err := tx.CheckNoReplica(); err == context.Canceled {`,
		"internal/app", "^TestRotateKeyBesideAReplica$"},
	{"rotate-start", "a start waits for a rotation that is being committed", "internal/lifecycle/key.go",
		`noted, err := recordKeyFingerprint(tx, given)`,
		"noted, err := keyFingerprint(tx)\n\t\tif err != nil {\n\t\t\tnoted, err = recordKeyFingerprint(tx, given)" +
			"\n\t\t}",
		"internal/lifecycle", "^TestStartDuringARotation$"},
	{"rotate-heartbeat", "a server whose key was replaced meanwhile stops", "internal/app/replica.go",
		`err = a.Lifecycle.RecheckKey(ctx, a.masterKey.Fingerprint())`, `err = nil`, "internal/app",
		"^TestReplicaWithTheOldKeyStops$/^sqlite$"},
	{"rotate-former-end", "the former key verifies nothing after its time", "internal/secret/seal.go",
		`k.now().Before(k.former.Until) && `, ``, "internal/secret", "^TestFormerKey$"},
	{"rotate-former-drop", "former keys are deleted after their time", "internal/site/former_keys.go",
		`now.Before(former.Until) {`, `!now.IsZero() {`, "internal/site", "^TestFormerKeys$/^sqlite$"},
	{"rotate-backup-rows", "a backup has the key of its database", "internal/backup/manifest.go",
		`if err == nil && noted != want {`, `if err == nil && noted != want && noted == 1 {`, "internal/backup",
		"^TestKeyReplacedDuringABackup$/^sqlite$"},
	{"rotate-backup-file", "a backup has the key of its key file", "internal/backup/manifest.go",
		`err != nil || copied != r.Fingerprint {`, `err != nil || copied == "" {`, "internal/backup",
		"^TestKeyReplacedDuringABackup$/^file$"},
}

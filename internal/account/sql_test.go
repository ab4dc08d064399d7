package account_test

import (
	"context"

	"larder/internal/db"
)

// deleteUser takes an account away and tells the replicas.
func deleteUser(tx *db.Tx, id string) error {
	if _, err := tx.Exec("DELETE FROM users WHERE id = $1", id); err != nil {
		return err
	}
	return tx.BumpConfig()
}

// csrfRows counts what is stored of CSRF tokens.
func (w *world) csrfRows() int {
	w.t.Helper()
	var n int
	if err := w.db.Read(context.Background()).QueryRow("SELECT COUNT(*) FROM csrf_tokens").Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

package db_test

import (
	"testing"

	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// Settings of a server or a role must not weaken the guarantees of Write.
func TestTransactionsDoNotDependOnTheServersDefaults(t *testing.T) {
	t.Parallel()
	cfg := dbtest.Config(t, "postgres")
	cfg.URL += "&options=-c%20synchronous_commit%3Doff%20-c%20default_transaction_isolation%3Dserializable"
	d, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for name, want := range map[string]string{"synchronous_commit": "on", "transaction_isolation": "read committed"} {
		var got string
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			return tx.QueryRow("SELECT current_setting($1)", name).Scan(&got)
		})
		if err != nil || got != want {
			t.Errorf("%s is %q, want %q (%v)", name, got, want, err)
		}
	}
}

func TestStricterCommitsAreLeftAlone(t *testing.T) {
	t.Parallel()
	cfg := dbtest.Config(t, "postgres")
	cfg.URL += "&options=-c%20synchronous_commit%3Dremote_apply"
	d, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var got string
	err = d.Write(t.Context(), func(tx *db.Tx) error {
		return tx.QueryRow("SELECT current_setting('synchronous_commit')").Scan(&got)
	})
	if err != nil || got != "remote_apply" {
		t.Errorf("got %q, %v", got, err)
	}
}

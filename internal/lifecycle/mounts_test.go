package lifecycle_test

import (
	"testing"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/lifecycle"
	"larder/internal/mount"
)

// The root of a mount never belongs to an account that was deleted or disabled during the request.
func TestMountsBelongToActiveAccounts(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB, objects string) {
		r := newReplica(t, d, objects)
		r.seed()
		boss, gone, banned := r.makeUser("boss", access.Admin), r.makeUser("gone", access.Admin), r.makeUser("banned",
			access.Admin)
		r.delete(boss, gone)
		status := account.Banned
		r.update(boss, banned, lifecycle.UserUpdate{Status: &status})
		all, err := r.life.AllMounts(ctx)
		if err != nil {
			t.Fatal(err)
		}
		before, entries := len(all), r.count("SELECT count(*) FROM entries")
		m := mount.Mount{ProviderID: all[0].ProviderID, Path: path(t, "/more"), Name: "more", SortBy: "name",
			SortOrder: "asc"}
		for name, owner := range map[string]string{"deleted": gone.UserID, "banned": banned.UserID, "nobody": "",
			"unknown": "unknown"} {
			if _, err := r.life.CreateMount(ctx, owner, m); !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if all, err = r.life.AllMounts(ctx); err != nil || len(all) != before ||
			r.count("SELECT count(*) FROM entries") != entries {
			t.Errorf("%d mounts, were %d, %v", len(all), before, err)
		}
		if _, err := r.life.CreateMount(ctx, boss.UserID, m); err != nil {
			t.Error(err)
		}
	})
}

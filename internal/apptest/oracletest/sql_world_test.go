package oracletest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"larder/internal/db"
	"larder/internal/vpath"
)

// standIn is a password hash that matches no password.
const standIn = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// proofOf returns the cookie's name of an entry's password. Half of the entries use the older form
// without password ids.
func proofOf(entryID string) string {
	if entryID[0] < '8' {
		return entryID
	}
	return strings.ReplaceAll(entryID, "-", "")
}

// proofOfRule returns the cookie's name of a rule's password.
func proofOfRule(ruleID string) string {
	sum := sha256.Sum256([]byte(ruleID + " " + standIn))
	return hex.EncodeToString(sum[:16])
}

// put replaces the content of the database by the world. object is the content of all files, in the
// store of provider.
func (w *world) put(ctx context.Context, d *db.DB, provider, object string, now int64) error {
	return d.Write(ctx, func(tx *db.Tx) error {
		x := script{tx: tx}
		for _, table := range []string{"mounts", "rules", "api_keys"} {
			x.do(`DELETE FROM ` + table)
		}
		x.do(`DELETE FROM upload_sessions`)
		x.do(`DELETE FROM jobs`)
		x.do(`DELETE FROM download_tokens`)
		x.do(`UPDATE users SET home_id = NULL`)
		w.putEntries(&x, object, now)
		for _, m := range w.mounts {
			x.do(
				`INSERT INTO mounts (id, provider_id, root_id, mount_path, name, sort_by, sort_order, priority, created_at, updated_at)
				VALUES ($1, $2, $3, $4, 'M', 'name', 'asc', $5, $6, $7)`, m.id, provider, m.root.id, m.path, m.priority,
				now, now)
		}
		for _, u := range w.users {
			if u.home != nil {
				x.do(`UPDATE users SET home_id = $1 WHERE id = $2`, u.home.id, u.id)
			}
		}
		for _, k := range w.keys {
			hash := sha256.Sum256([]byte(k.id + "." + k.secret))
			x.do(
				`INSERT INTO api_keys (id, user_id, name, token_hash, permissions, protocols, upload_path, allowed_ips, public_links, root_only, created_at, updated_at)
				VALUES ($1, $2, 'k', $3, $4, $5, $6, $7, 'none', $8, $9, $10)`, k.id, k.owner.id,
				hex.EncodeToString(hash[:]), strings.Join(k.permissions, ","),
				strings.Join(k.protocols, ","), k.root, strings.Join(networksOf(k.ips), ","), k.rootOnly, now, now)
		}
		for _, r := range w.rules {
			r.put(&x, now)
		}
		if x.err != nil {
			return x.err
		}
		return tx.BumpConfig()
	})
}

func (r *rule) put(x *script, now int64) {
	var mountID, role, userID, keyID, hash any
	effect := "allow"
	if r.deny {
		effect = "deny"
	}
	switch {
	case r.user != nil:
		userID = r.user.id
	case r.key != nil:
		keyID = r.key.id
	default:
		role = r.role
	}
	if r.mount != nil {
		mountID = r.mount.id
	}
	if r.password {
		hash = standIn
	}
	x.do(`INSERT INTO rules (id, path_pattern, effect, mount_id, role, user_id, api_key_id, permissions, require_password, password_hash, allowed_ips, priority, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`, r.id, r.pattern, effect, mountID, role,
		userID, keyID,
		strings.Join(r.permissions, ","), r.password, hash, strings.Join(networksOf(r.ips), ","), r.priority,
		now+r.created, now)
}

// share replaces the share of the world by one of a file.
func (w *world) share(ctx context.Context, d *db.DB, id string, e *entry, creator *user, now int64) error {
	return d.Write(ctx, func(tx *db.Tx) error {
		x := script{tx: tx}
		x.do(`DELETE FROM shares`)
		x.do(`INSERT INTO shares (id, entry_id, creator_id, allow_preview, allow_download, created_at, updated_at) VALUES ($1, $2, $3, TRUE, TRUE, $4, $4)`, id, e.id, creator.id, now)
		return x.err
	})
}

// restore restores the entries to their original state.
func (w *world) restore(ctx context.Context, d *db.DB, object string, now int64) error {
	return d.Write(ctx, func(tx *db.Tx) error {
		x := script{tx: tx}
		w.putEntries(&x, object, now)
		return x.err
	})
}

func (w *world) putEntries(x *script, object string, now int64) {
	x.do(`DELETE FROM links`)
	x.do(`DELETE FROM entries WHERE id NOT IN ('graveyard', 'staging')`)
	x.do(`UPDATE objects SET refs = 1000000`)
	x.do(`UPDATE quotas SET max_storage = -1, max_files = -1, used_storage = 1000000000, used_files = 1000000, reserved_storage = 0, reserved_files = 0`)
	for _, e := range w.entries {
		var parent, content, hash, passwordID any
		kind, size := 0, 0
		if e.parent != nil {
			parent = e.parent.id
		}
		if !e.folder {
			kind, size, content = 1, 1, object
		}
		if e.password {
			hash = standIn
			if id := proofOf(e.id); id != e.id {
				passwordID = id
			}
		}
		x.do(`INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, password_hash, password_id, created_at, updated_at, sort_key)
			VALUES ($1, $2, $3, $4, $5, $6, 'image/png', $7, $8, $9, $10, $11, $12, $13)`, e.id, parent, e.name,
			strings.ToLower(e.name), kind, size, e.owner.id, content, hash, passwordID, now, now, vpath.SortKey(e.name))
		if e.link != "" {
			x.do(`INSERT INTO links (id, entry_id, ext, created_at) VALUES ($1, $2, 'png', $3)`, e.link, e.id, now)
		}
	}
}

// networksOf formats addresses as the service stores them.
func networksOf(ips []string) []string {
	var all []string
	for _, ip := range ips {
		if !strings.Contains(ip, "/") {
			ip += "/32"
		}
		all = append(all, ip)
	}
	return all
}

// script executes statements until the first failure.
type script struct {
	tx  *db.Tx
	err error
}

func (s *script) do(statement string, args ...any) {
	if s.err == nil {
		_, s.err = s.tx.Exec(statement, args...)
	}
}

// sharedObject returns the object of a file and its provider.
func sharedObject(ctx context.Context, d *db.DB, file string) (object, provider string, err error) {
	err = d.Read(ctx).
		QueryRow(`SELECT o.id, o.provider_id FROM entries e JOIN objects o ON o.id = e.object_id WHERE e.id = $1`,
			file).Scan(&object, &provider)
	return object, provider, err
}

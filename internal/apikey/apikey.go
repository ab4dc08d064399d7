// Package apikey stores the API keys with which programs act in a user's name: the permissions of a
// key, the addresses it may be used from, and the folder it uploads into.
//
// A key has a public half, its id (`pk_` and 24 characters), and a secret half (`sk_` and 48
// characters). Joined by a dot they are the token. The database holds only the SHA-256 of the whole
// token, so no token can be read from it, and an id with another secret is worthless. Keys are
// cached under the config version, which every change raises. The time of the last use does not
// raise the version, and is written in batches.
//
// The package checks the key alone. Callers check whether the owner is active and what the owner
// may do.
//
// Specification: API key, Authentication, API key endpoints, Limits.
package apikey

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/ident"
	"larder/internal/lastuse"
	"larder/internal/secret"
)

const (
	// MaxActive is the number of keys of a user that can be active at a time.
	MaxActive = 20
	// maxInactiveKeys is the number of expired and revoked keys of a user that are kept for
	// display. Creating a key deletes the oldest beyond it.
	maxInactiveKeys = 200
	// maxCachedKeys bounds the cached keys, about a kilobyte each.
	maxCachedKeys = 10000
)

// Key is an API key without its secret. Its slices may be shared and must not be changed.
type Key struct {
	ID          string // the public half, `pk_…`
	UserID      string
	Name        string
	Permissions []string       // read, write, delete, in that order
	Protocols   []string       // webdav, api, in that order
	UploadPath  string         // clean; may contain placeholders
	AllowedIPs  []netip.Prefix // nil for any address
	// the files that compatible uploads make a permanent link for: none, images, all
	PublicLinks                      string
	RootOnly                         bool   // reading is confined to the upload root as well
	LastUsedAt, ExpiresAt, RevokedAt *int64 // ms
	CreatedAt                        int64  // ms
}

// Status returns `active`, `expired` or `revoked`, as of now.
func (k Key) Status(now time.Time) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked"
	case k.ExpiresAt != nil && *k.ExpiresAt <= now.UnixMilli():
		return "expired"
	}
	return "active"
}

// Scope returns the permissions and the upload root of the key, in the form that package access
// decides with. Write includes update, and read includes download. Sharing is never possible with a
// key. A key whose upload path cannot be parsed has no permissions.
func (k Key) Scope() *access.Key {
	root, err := UploadRoot(k.UploadPath)
	if err != nil {
		return &access.Key{ID: k.ID, RootOnly: true}
	}
	scope := &access.Key{ID: k.ID, Root: root, RootOnly: k.RootOnly}
	for _, name := range k.Permissions {
		switch name {
		case "read":
			scope.Permissions |= access.Set(access.Read | access.Download)
		case "write":
			scope.Permissions |= access.Set(access.Write | access.Update)
		case "delete":
			scope.Permissions |= access.Set(access.Delete)
		}
	}
	return scope
}

// Allows checks the protocol, `api` or `webdav`, and the address of a request. An IPv4 address
// mapped into IPv6 is treated as IPv4 (abuse cases C32, C59). Fault: Forbidden.
func (k Key) Allows(protocol string, ip netip.Addr) error {
	if !slices.Contains(k.Protocols, protocol) {
		return fault.New(fault.Forbidden, "This API key does not allow this protocol.")
	}
	ip = ip.Unmap().WithZone("")
	if len(k.AllowedIPs) > 0 && !slices.ContainsFunc(k.AllowedIPs,
		func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return fault.New(fault.Forbidden, "This API key does not allow requests from this address.")
	}
	return nil
}

// Service manages the keys of one database. It is safe for concurrent use.
type Service struct {
	db   *db.DB
	ids  *ident.Source
	now  func() time.Time
	keys *db.VersionedMap[string, storedKey]

	// OnRevoke, unless it is nil, is called inside the transaction in which a key is revoked. Set
	// it before the Service is used.
	OnRevoke func(tx *db.Tx, id string) error

	uses *lastuse.Recorder
}

// New returns the Service for the keys in d.
func New(d *db.DB, ids *ident.Source, now func() time.Time) *Service {
	return &Service{
		db:   d,
		ids:  ids,
		now:  now,
		keys: db.NewVersionedMap[string, storedKey](maxCachedKeys),
		uses: lastuse.New(now),
	}
}

// Create creates a key and returns it with its secret half, which cannot be read again. Faults:
// Invalid; Forbidden for an invalid upload path or when the user has MaxActive active keys;
// NotFound when there is no such user.
func (s *Service) Create(ctx context.Context, userID string, n NewKey) (Key, secret.Text, error) {
	now := s.now()
	k, err := n.build(now)
	if err != nil {
		return Key{}, "", err
	}
	k.ID, k.UserID, k.CreatedAt = s.ids.KeyID(), userID, now.UnixMilli()
	half := s.ids.KeySecret()
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		if err := checkKeyLimit(tx, userID, now); err != nil {
			return err
		}
		if err := insert(tx, k, hashToken(k.ID+"."+half)); err != nil {
			return err
		}
		if err := deleteOldInactive(tx, userID, now.UnixMilli()); err != nil {
			return err
		}
		return tx.BumpConfig()
	})
	if err != nil {
		return Key{}, "", err
	}
	return k, secret.Text(half), nil
}

// checkKeyLimit locks the user's row until tx ends, so that other changes of the user's keys wait,
// and refuses when the user has MaxActive active keys already. Faults: Forbidden, NotFound.
func checkKeyLimit(tx *db.Tx, userID string, now time.Time) error {
	if err := lockUser(tx, userID); err != nil {
		return err
	}
	active, err := countActive(tx, userID, now.UnixMilli())
	if err != nil {
		return err
	}
	if active >= MaxActive {
		return fault.Newf(fault.Forbidden, "You have %d active API keys already: revoke one first.", MaxActive)
	}
	return nil
}

// List returns all keys of a user, newest first, including expired and revoked ones. Their last
// uses include those of this replica that are not in the database yet.
func (s *Service) List(ctx context.Context, userID string) ([]Key, error) {
	keys, err := list(s.db.Read(ctx), userID)
	if err != nil {
		return nil, err
	}
	for i := range keys {
		s.addUse(&keys[i])
	}
	return keys, nil
}

// CountActive returns the number of active keys of a user.
func (s *Service) CountActive(q db.Querier, userID string) (int, error) {
	return countActive(q, userID, s.now().UnixMilli())
}

// LastUses returns the time (ms) at which each of some users last used a key, by the user's id;
// users who never did are left out. It is exact to about a minute.
func (s *Service) LastUses(q db.Querier, userIDs []string) (map[string]int64, error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	return lastUses(q, userIDs)
}

// Change describes a change of a key. A nil field leaves the value as it is.
type Change struct {
	Name        *string
	Permissions *[]string
	AllowedIPs  *[]string
	ExpiresIn   **int64 // seconds from now; an inner nil means that the key does not expire
	PublicLinks *string
	RootOnly    *bool
}

// Change changes the key with that id of the user. An expired key with a new expiry is active
// again, and counts. Faults: Invalid; NotFound, also for the key of another user; Conflict for a
// revoked key; Forbidden when the user has MaxActive active keys.
func (s *Service) Change(ctx context.Context, userID, id string, c Change) (Key, error) {
	now := s.now()
	if !isKeyID(id) {
		return Key{}, noKey()
	}
	var k Key
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		if err := lockUser(tx, userID); err != nil {
			return err
		}
		var err error
		if k, err = byOwner(tx, userID, id); err != nil {
			return err
		}
		before := k.Status(now)
		if before == "revoked" {
			return fault.New(fault.Conflict, "A revoked API key cannot be changed.")
		}
		if err := c.apply(&k, now); err != nil {
			return err
		}
		if before != "active" && k.Status(now) == "active" {
			if err := checkKeyLimit(tx, userID, now); err != nil {
				return err
			}
		}
		if err := update(tx, k, now.UnixMilli()); err != nil {
			return err
		}
		return tx.BumpConfig()
	})
	if err != nil {
		return Key{}, err
	}
	s.addUse(&k)
	return k, nil
}

// Revoke ends a key of the user for good. Revoking it again is no error. Fault: NotFound, also for
// the key of another user.
func (s *Service) Revoke(ctx context.Context, userID, id string) error {
	if !isKeyID(id) {
		return noKey()
	}
	return s.db.Write(ctx, func(tx *db.Tx) error {
		if err := revoke(tx, userID, id, s.now().UnixMilli()); err != nil {
			return err
		}
		if err := s.notifyRevoked(tx, id); err != nil {
			return err
		}
		return tx.BumpConfig()
	})
}

// RevokeAll ends all keys of a user for good, in the caller's transaction, which ends the account.
// It returns the ids of all stored keys of the user, including those that were inactive before.
func (s *Service) RevokeAll(tx *db.Tx, userID string) (ids []string, err error) {
	if ids, err = revokeAll(tx, userID, s.now().UnixMilli()); err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := s.notifyRevoked(tx, id); err != nil {
			return nil, err
		}
	}
	return ids, tx.BumpConfig()
}

// notifyRevoked calls OnRevoke, which ends what belongs to the key, such as its locks.
func (s *Service) notifyRevoked(tx *db.Tx, id string) error {
	if s.OnRevoke == nil {
		return nil
	}
	return s.OnRevoke(tx, id)
}

// noKey returns the fault NotFound of a key that does not exist or belongs to another user.
func noKey() error { return fault.New(fault.NotFound, "There is no such API key.") }

// hashToken returns the SHA-256 of a token in hexadecimal, which is all of it that the database
// holds.
func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

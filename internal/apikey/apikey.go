// Package apikey keeps the keys that programs act with in a user's name: what each may do, from
// where, and into which folder it uploads.
//
// A key has a public half, its id (`pk_` and 24 characters), and a secret half (`sk_` and 48);
// joined by a dot they are the token. Only the SHA-256 of the whole token is stored, so that nobody
// can read a token out of the database, and an id with another secret is worth nothing. Keys are
// kept in memory under the config version, which every change raises; the time of the last use is
// not part of that, and is written in batches.
//
// The package judges the key alone. Whether its owner is active, and what the owner may do, is
// judged where both are known.
//
// Specification: API key, Authentication, API key endpoints, Limits.
package apikey

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"sync"
	"time"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/ident"
	"larder/internal/secret"
)

const (
	// MaxActive is how many keys of a user can be active at a time.
	MaxActive = 20
	// maxInactiveKeys is how many expired and revoked keys of a user are kept to be looked at; the
	// oldest beyond go when a new key is made.
	maxInactiveKeys = 200
	// maxCachedKeys bounds the keys kept in memory, about a kilobyte each.
	maxCachedKeys = 10000
)

// Key is an API key without its secret. Its slices may be shared: they must not be changed.
type Key struct {
	ID          string // the public half, `pk_…`
	UserID      string
	Name        string
	Permissions []string       // read, write, delete, in that order
	Protocols   []string       // webdav, api, in that order
	UploadPath  string         // clean; may hold placeholders
	AllowedIPs  []netip.Prefix // nil for any address
	// what compatible uploads make a permanent link for: none, images, all
	PublicLinks                      string
	RootOnly                         bool   // reading is confined to the upload root as well
	LastUsedAt, ExpiresAt, RevokedAt *int64 // ms
	CreatedAt                        int64  // ms
}

// Status returns `active`, `expired` or `revoked`.
func (k Key) Status(now time.Time) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked"
	case k.ExpiresAt != nil && *k.ExpiresAt <= now.UnixMilli():
		return "expired"
	}
	return "active"
}

// Scope returns the key as permissions are decided with it. Writing includes changing, reading
// includes the bytes; sharing is never done through a key. A key whose upload path cannot be
// read may do nothing.
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

// Allows judges the protocol, `api` or `webdav`, and the address of a request. An IPv4 address
// mapped into IPv6 is that IPv4 address (abuse cases C32, C59). Fault: Forbidden.
func (k Key) Allows(protocol string, ip netip.Addr) error {
	if !slices.Contains(k.Protocols, protocol) {
		return fault.New(fault.Forbidden, "This API key is not made for this protocol.")
	}
	ip = ip.Unmap().WithZone("")
	if len(k.AllowedIPs) > 0 && !slices.ContainsFunc(k.AllowedIPs,
		func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return fault.New(fault.Forbidden, "This API key may not be used from this address.")
	}
	return nil
}

// Service is the keys of one database. It is safe for concurrent use.
type Service struct {
	db   *db.DB
	ids  *ident.Source
	now  func() time.Time
	keys *db.VersionedMap[string, storedKey]

	// Ended, unless it is nil, is called inside the transaction in which a key is revoked. Set it
	// before the Service is used.
	OnRevoke func(tx *db.Tx, id string) error

	mu            sync.Mutex
	unwrittenUses map[string]int64 // last uses that are not written yet, ms
	writtenUses   map[string]int64 // last uses written less than a minute ago, ms
}

// New returns the keys in d.
func New(d *db.DB, ids *ident.Source, now func() time.Time) *Service {
	return &Service{
		db:            d,
		ids:           ids,
		now:           now,
		keys:          db.NewVersionedMap[string, storedKey](maxCachedKeys),
		unwrittenUses: map[string]int64{},
		writtenUses:   map[string]int64{},
	}
}

// Create makes a key and returns it with its secret half, which nothing can tell again. Faults:
// Invalid; Forbidden for a bad upload path or when the user has MaxActive active keys; NotFound
// when there is no such user.
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

// checkKeyLimit makes other changes of this user's keys wait until tx ends, and refuses when no
// further key can be active. Faults: Forbidden, NotFound.
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

// List returns all keys of a user, newest first, expired and revoked ones included.
func (s *Service) List(ctx context.Context, userID string) ([]Key, error) {
	return list(s.db.Read(ctx), userID)
}

// Change says what to change; nil leaves a thing as it is.
type Change struct {
	Name        *string
	Permissions *[]string
	AllowedIPs  *[]string
	ExpiresIn   **int64 // seconds from now; a nil within means that the key doesn't expire
	PublicLinks *string
	RootOnly    *bool
}

// Change changes a key of the user. An expired key that gets a new time is active again, and
// counts. Faults: Invalid; NotFound, also for somebody else's key; Conflict for a revoked one;
// Forbidden when the user has MaxActive active ones.
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
	return k, nil
}

// Revoke ends a key of the user for good; once more does no harm. Fault: NotFound, also
// for somebody else's key.
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

// RevokeAll ends all keys of a user for good, in the caller's transaction, and returns the ids of
// all that the user ever had and that are kept.
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

func (s *Service) notifyRevoked(tx *db.Tx, id string) error {
	if s.OnRevoke == nil {
		return nil
	}
	return s.OnRevoke(tx, id)
}

func noKey() error { return fault.New(fault.NotFound, "There is no such API key.") }

// hashToken is how a token is stored.
func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

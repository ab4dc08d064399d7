// Package account stores users, their password hashes, their sessions and the CSRF tokens of those
// sessions.
//
// A session is a signed token (JWT) that names a user, and the session version and role version
// under which it was issued. Raising one of these versions ends every session of the user: logout,
// a new password, disabling and banning raise the session version, a change of role raises the role
// version. Every change of a user also raises the config version. Users are cached under the config
// version, so all replicas learn of the change at once. Each session also has a row, by which it
// can be ended individually.
//
// An account has a home and a quota, which belong to other packages. Package lifecycle combines
// them.
//
// Specification: User, User status, Session version, Authentication.
package account

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/maypok86/otter/v2"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/ident"
	"larder/internal/lastuse"
	"larder/internal/letter"
	"larder/internal/secret"
)

// Status says whether an account may be used.
type Status string

// The statuses. Only an active account can log in or keep a session.
const (
	Active   Status = "active"
	Disabled Status = "disabled"
	Banned   Status = "banned"
)

// User is an account without its password. The values behind the pointers may be shared and must
// not be changed.
type User struct {
	ID, Username, Email         string
	EmailVerified               bool
	Role                        access.Role
	Status                      Status
	DisplayName, AvatarURL      *string
	DefaultPath                 string // the folder that the UI opens first
	HomeID                      string // entry, "" for none
	Locale, Theme, AccentColor  string
	EnableBlur                  bool
	RoleVersion, SessionVersion int64
	CreatedAt, UpdatedAt        int64 // ms
}

// Config holds the dependencies of a Service. Every field is required, except Letters and Wake in a
// program that sends no mail.
type Config struct {
	DB      *db.DB
	IDs     *ident.Source
	Random  io.Reader // salts of passwords
	Keys    *secret.Keyring
	Now     func() time.Time
	Log     *slog.Logger
	Letters *letter.Service
	Wake    func() // called when a mail has been queued

	// KiB that the hash of a new password takes, 0 for the production default; tests set less to
	// run faster
	HashMemory uint32
	HashWait   time.Duration // how long a hash waits for its turn, 0 for 10 s
	// called before each hash, once it has its slot; nil for none; tests use it to delay hashes
	OnHash func(Source)
}

// maxCachedUsers bounds the users kept in memory, some hundred bytes each.
const maxCachedUsers = 10000

// Service manages the accounts of one database. It is safe for concurrent use.
type Service struct {
	db         *db.DB
	ids        *ident.Source
	random     io.Reader
	sessionKey []byte // signs sessions
	codeKey    []byte // MAC key of mailed codes
	now        func() time.Time
	log        *slog.Logger
	keys       *secret.Keyring
	letters    *letter.Service
	wake       func()
	users      *db.VersionedMap[string, User]
	sessions   *db.VersionedMap[string, bool] // by id: whether the session was ended individually
	verified   *otter.Cache[string, claims]   // by token
	uses       *lastuse.Recorder              // of sessions
	hashing    *hashQueue

	hashMemory uint32
	onHash     func(Source)

	deviceKey  []byte // MAC key of the proofs of known devices
	unknownKey []byte // MAC key of the login targets of unknown names
}

// New returns the Service for the accounts in cfg.DB.
func New(cfg Config) *Service {
	return &Service{
		db:         cfg.DB,
		ids:        cfg.IDs,
		random:     cfg.Random,
		sessionKey: cfg.Keys.Key("session"),
		codeKey:    cfg.Keys.Key("email-code"),
		now:        cfg.Now,
		log:        cfg.Log,
		keys:       cfg.Keys,
		letters:    cfg.Letters,
		wake:       cfg.Wake,
		users:      db.NewVersionedMap[string, User](maxCachedUsers),
		sessions:   db.NewVersionedMap[string, bool](maxCachedSessions),
		verified:   newVerifiedTokens(),
		uses:       lastuse.New(cfg.Now),
		hashing:    newHashQueue(cmp.Or(cfg.HashWait, maxQueueWait)),

		hashMemory: cmp.Or(cfg.HashMemory, hashMemory),
		onHash:     cfg.OnHash,

		deviceKey:  cfg.Keys.Key("known-device"),
		unknownKey: cfg.Keys.Key("unknown-name"),
	}
}

// Insert writes a new active user with a password that is already hashed, in the caller's
// transaction. It creates neither home nor quota; package lifecycle does. Faults: Invalid;
// AlreadyExists when the name or the address is taken, compared without case. The transaction can
// continue after AlreadyExists.
func (s *Service) Insert(tx *db.Tx, n NewUser, passwordHash string) (User, error) {
	if err := n.checkIdentity(); err != nil {
		return User{}, err
	}
	if _, err := parseHash(passwordHash); err != nil {
		return User{}, fmt.Errorf("insert user: %w", err)
	}
	now := s.now().UnixMilli()
	u := User{
		ID:             s.ids.UUID(),
		Username:       n.Username,
		Email:          n.Email,
		EmailVerified:  n.EmailVerified,
		Role:           n.Role,
		Status:         Active,
		DefaultPath:    orElse(n.DefaultPath, "/"),
		HomeID:         n.HomeID,
		Locale:         orElse(n.Locale, "en-US"),
		Theme:          "system",
		AccentColor:    "#3b6cf6",
		EnableBlur:     true,
		RoleVersion:    1,
		SessionVersion: 1,
		CreatedAt:      now,
		UpdatedAt:      now,
	}
	if err := insertUser(tx, u, passwordHash); err != nil {
		return User{}, err
	}
	return u, tx.BumpConfig()
}

// SetHome sets the home of a user, the entry id of the folder in which the user may do everything
// ("" for none), and the path of the folder that the UI opens first. Fault: NotFound.
func (s *Service) SetHome(tx *db.Tx, userID, homeID, defaultPath string) error {
	return finishChange(tx, updateHome(tx, userID, homeID, defaultPath, s.now().UnixMilli()))
}

// SetPassword replaces the password with one that is already hashed. It ends all sessions of the
// user and voids mailed reset links and codes. Fault: NotFound.
func (s *Service) SetPassword(tx *db.Tx, userID, passwordHash string) error {
	if _, err := parseHash(passwordHash); err != nil {
		return fmt.Errorf("set password: %w", err)
	}
	if err := endByVersion(tx, userID, updatePassword(tx, userID, passwordHash, s.now().UnixMilli())); err != nil {
		return err
	}
	return s.VoidResetsAndCodes(tx, userID)
}

// SetStatus changes the status. Every status but Active ends all sessions of the user and voids
// mailed reset links and codes. Fault: NotFound.
func (s *Service) SetStatus(tx *db.Tx, userID string, status Status) error {
	err := endByVersion(tx, userID, updateStatus(tx, userID, status, s.now().UnixMilli()))
	if err != nil || status == Active {
		return err
	}
	return s.VoidResetsAndCodes(tx, userID)
}

// SetRole changes the role. A role other than the present one ends all sessions of the user. Fault:
// NotFound.
func (s *Service) SetRole(tx *db.Tx, userID string, role access.Role) error {
	return endByVersion(tx, userID, updateRole(tx, userID, role, s.now().UnixMilli()))
}

// endByVersion ends a change that may have raised a version of a user, whose error is err: it
// deletes the rows of the sessions that the new version has ended, and raises the config version.
// It returns err, and does nothing, if the change failed.
func endByVersion(tx *db.Tx, userID string, err error) error {
	if err == nil {
		err = deleteStaleSessions(tx, userID)
	}
	return finishChange(tx, err)
}

// finishChange raises the config version after a change that succeeded, so that no replica uses a
// cached user any more. It returns err, and does nothing, if the change failed.
func finishChange(tx *db.Tx, err error) error {
	if err != nil {
		return err
	}
	return tx.BumpConfig()
}

// ByID reads a user of any status from the database. Fault: NotFound.
func (s *Service) ByID(q db.Querier, id string) (User, error) {
	u, _, err := readUser(q, byID, id)
	return u, err
}

// ByName returns the user of any status with that name or address, compared without case. Fault:
// NotFound.
func (s *Service) ByName(q db.Querier, usernameOrEmail string) (User, error) {
	u, _, err := findUser(q, usernameOrEmail)
	return u, err
}

// Cached returns a user of any status. It reads the database only when the user is not cached under
// version, the config version that the caller has read in this request. A caller that acts on
// behalf of the user must check the status. Fault: NotFound.
func (s *Service) Cached(ctx context.Context, version int64, id string) (User, error) {
	return s.users.Get(version, id, func() (User, error) { return s.ByID(s.db.Read(ctx), id) })
}

// orElse returns value, or otherwise if value is "".
func orElse(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

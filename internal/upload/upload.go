// Package upload receives files: by an upload session (create, send the bytes, complete) or in one
// request (Put).
//
// A session is a row and a small state machine: pending, then completed, aborted or expired. Each
// step out of pending is one conditional UPDATE, so that of several callers, replicas or sweeps
// exactly one takes it. These invariants hold at every moment, including after a crash:
//   - the reserved bytes and files of a user are the sums over the user's rows that are pending or
//     whose parts are kept;
//   - a key under which bytes are being written, or exist without a file, is on the garbage list;
//     the transaction that makes the file takes it off, so that neither a crash nor a lost answer
//     leaves an object that nothing refers to;
//   - a file appears, is charged and ends its session in one transaction.
//
// A session is expired from the millisecond on, whether the sweep has found it or not. Permissions
// are checked when a session is made and again when it completes.
//
// The bytes of a session come in one piece, which may be repeated until it completes, or in parts.
// The store reports which parts it has. Where all of them come through the service, the database
// records which were acknowledged: a part counts where both agree, and is sent again where they
// differ (see received.go). The parts of an expired session are kept for a day for a client that
// returns with its idempotency key: a new session then takes over the key of its object with the
// parts.
//
// Where the store signs addresses, the bytes may also go directly to it. Parts end up in the same
// place either way. Bytes in one piece go to a staging key, which is garbage from the start, due
// when its address has expired: an address cannot be revoked, so no file is ever made of that
// object, only of a copy that completion makes after checking it. Specification: Upload session,
// Upload endpoints, Compatible upload endpoints, Limits.
package upload

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/ident"
	"larder/internal/object"
	"larder/internal/provider"
)

// Limits. Specification: Limits.
const (
	// MaxFileSize is the largest file, in bytes.
	MaxFileSize = 20 << 30
	// Lifetime is how long a session stays pending.
	Lifetime = time.Hour

	// partSize is the length of every part but the last, in bytes.
	partSize = 8 << 20
	// renewableFor is how long after its creation a session in parts can be pending at most.
	renewableFor = 24 * time.Hour
	// keepPartsFor is how long the parts of an expired session are kept.
	keepPartsFor = 24 * time.Hour
	// takeoverWindow is how long after their beginning a new session may take over parts. Together
	// with renewableFor it is the minimal age at which provider.Sweep, and the rules of buckets,
	// delete an unfinished upload: three days.
	takeoverWindow = renewableFor + keepPartsFor

	// answerTime is how long a list or the sweep waits for a store to report what came in; without
	// an answer they continue.
	answerTime = 5 * time.Second

	maxSingleSize    = 100 << 20 // bytes of the largest file in one piece
	maxParts         = 2560      // 20 GiB in parts of 8 MiB
	maxOpenSessions  = 100       // pending sessions of one user
	maxListed        = 1000      // sessions in a list
	maxKeyLength     = 255       // characters of an idempotency key
	repeatableFor    = 24 * time.Hour
	keepCompletedFor = 48 * time.Hour // how long the row of a completed session stays
	keepEndedFor     = 24 * time.Hour // how long other rows stay after the expiry
	garbageDelay     = time.Hour      // from the expiry of a session until its key is garbage
	// stagingDelay is the same for bytes sent directly to the store: everything that came is
	// deleted within the hour.
	stagingDelay = 50 * time.Minute
)

// Config is the configuration of a Service.
type Config struct {
	DB        *db.DB
	Tree      *files.Tree
	Objects   *object.Registry
	Providers *provider.Registry
	IDs       *ident.Source
	Now       func() time.Time
	Log       *slog.Logger
}

// Service runs uploads. Its methods are safe for concurrent use.
type Service struct {
	db   *db.DB
	tree *files.Tree
	ids  *ident.Source
	now  func() time.Time
	log  *slog.Logger

	store      func(ctx context.Context, providerID string) (blob.Store, error)
	providers  *provider.Registry
	keys       *object.KeySource
	partSize   int64         // less in tests
	answerTime time.Duration // less in tests

	leaseWait, leaseRenewal time.Duration // less in tests
	slotTimeout             time.Duration // less in tests

	copySlots         userSemaphore
	completionWaiters waiterLimit
	oneShotSlots      userSemaphore // of uploads in one request
}

// New returns a Service.
func New(cfg Config) *Service {
	return &Service{
		db: cfg.DB, tree: cfg.Tree, ids: cfg.IDs, now: cfg.Now, log: cfg.Log, store: cfg.Providers.Store,
		providers: cfg.Providers,
		keys:      cfg.Objects.Keys, partSize: partSize, answerTime: answerTime, leaseWait: leaseWait,
		leaseRenewal: leaseRenewal,
		oneShotSlots: userSemaphore{perUser: slotsPerUser}, slotTimeout: slotTimeout,
	}
}

// signedIn refuses visitors: an upload needs an account to charge.
func signedIn(a access.Actor) error {
	if a.UserID == "" {
		return fault.New(fault.Unauthorized, "Sign in to upload.")
	}
	return nil
}

// nowMs is the present time in milliseconds.
func (s *Service) nowMs() int64 { return s.now().UnixMilli() }

// discard makes the key of an upload that failed because of err garbage at once, instead of later,
// even when the caller's context has ended. Only a fault, or errSessionChanged, proves that no file
// was made: the answer to a commit may be lost, and the key is then that of a file. An unavailable
// store proves nothing either: it may complete the upload later, when the collector no longer knows
// the key. Then the key stays on the list for later.
func (s *Service) discard(ctx context.Context, err error, providerID string, key blob.Key) {
	if fault.KindOf(err) == fault.Internal && !errors.Is(err, errSessionChanged) ||
		errors.Is(err, blob.ErrUnavailable) {
		return
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	err = s.db.Write(ctx, func(tx *db.Tx) error { return object.Discard(tx, providerID, key, s.nowMs()) })
	if err != nil {
		s.log.Warn("discard an upload", "error", err)
	}
}

// detached returns a context for cleanup after a caller that may have disconnected: it goes on when
// ctx ends, for 30 seconds at most.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
}

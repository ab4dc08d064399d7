// Package upload takes files in: by an upload session (create, send the bytes, complete) or
// in one request (Put).
//
// A session is a row and a small state machine: pending, then completed, aborted or expired; each
// step out of pending is one conditional UPDATE, so that of several callers, replicas or the sweep
// exactly one takes it. What holds at every moment, crashes included:
//   - the reserved bytes and files of a user are the sums over the user's rows that are pending or whose parts are kept;
//   - a key under which bytes are being written, or lie without a file, is on the garbage list; the transaction that makes the file
//     takes it off, so that neither a crash nor a lost answer leaves an object that nobody knows;
//   - a file appears, is charged and ends its session in one transaction.
//
// An expired session is treated as such from the millisecond on, whether the sweep has met it or
// not. Rights are judged when a session is made and again when it completes.
//
// The bytes of a session come in one piece, which may be repeated until it completes, or in parts.
// The store tells which parts it has, and where all of them come through the service, the database
// which were acknowledged: a part counts where both say the same, and is sent again where they
// differ (see received.go). Of a session in parts that expires, what came in is kept for a day for
// whoever comes back with its idempotency key: a new session then takes over the key of its object,
// the parts and all.
//
// Where the store signs addresses, the bytes may also go straight to it. Parts end up in the same
// place either way. What comes in one piece goes to a staging key, which is garbage from the start,
// for when its address has expired: nobody can take that address back, so no file is ever made of
// that object, only of a copy that completion makes after looking at it. Specification: Upload
// session, Upload endpoints, Compatible upload endpoints, Limits.
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
	// takeoverWindow is for how long after they were begun a new session may take over parts.
	// With renewable it is what provider.Sweep, and the rules of buckets, leave an unfinished
	// upload at least: three days.
	takeoverWindow = renewableFor + keepPartsFor

	// answerTime is how long a store has to tell what came in, where that it does not
	// tell holds nothing up.
	answerTime = 5 * time.Second

	maxSingleSize    = 100 << 20 // bytes of the largest file that a single session takes
	maxParts         = 2560      // 20 GiB in parts of 8 MiB
	maxOpenSessions  = 100       // pending sessions of one user
	maxListed        = 1000      // sessions in a list
	maxKeyLength     = 255       // characters of an idempotency key
	repeatableFor    = 24 * time.Hour
	keepCompletedFor = 48 * time.Hour // how long the row of a completed session stays
	keepEndedFor     = 24 * time.Hour // how long other rows stay after the expiry
	garbageDelay     = time.Hour      // how long after its session's expiry a key is garbage
	// the same for bytes sent to the store by an address that has expired: all that came is
	// gone within the hour
	stagingDelay = 50 * time.Minute
)

// Config is what a Service works with.
type Config struct {
	DB        *db.DB
	Tree      *files.Tree
	Objects   *object.Registry
	Providers *provider.Registry
	IDs       *ident.Source
	Now       func() time.Time
	Log       *slog.Logger
}

// Service runs uploads. All methods are safe for concurrent use.
type Service struct {
	db   *db.DB
	tree *files.Tree
	ids  *ident.Source
	now  func() time.Time
	log  *slog.Logger

	store      func(ctx context.Context, providerID string) (blob.Store, error)
	providers  *provider.Registry
	keys       *object.KeySource
	partSize   int64         // partSize, less in tests
	answerTime time.Duration // answerTime, less in tests

	leaseWait, leaseRenewal time.Duration // leaseWait and leaseRenewal, less in tests
	slotTimeout             time.Duration // slotTimeout, less in tests

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

func (s *Service) nowMs() int64 { return s.now().UnixMilli() }

// discard makes a key garbage at once that was to be so later, because of err, also when the
// caller's context has ended. Only a fault, or errSessionChanged, is a sure sign that nothing came
// of it: the answer to a commit may be lost, and the key then a file's. Nor is that a store did not
// answer: it may still finish what it was sent, after the collector has found nothing and forgotten
// the key, which therefore stays noted for later.
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

// detached is for tidying up after a caller that may have gone away.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
}

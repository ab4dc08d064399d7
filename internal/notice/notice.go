// Package notice keeps the notifications of accounts: finished jobs, shares that are about to
// expire, storage that is nearly used up, and uploads that ended without a file.
//
// The transaction that makes an event true also writes its notification, so neither exists without
// the other. The subject of an event is unique for an account: an event that several replicas or
// sweeps see is written once. An account has at most maxNotifications notifications, of which the
// oldest are deleted first, and each is deleted when it is keepFor old.
//
// Specification: beyond it, see docs/decisions.md.
package notice

import (
	"context"
	"fmt"
	"sync"
	"time"

	"larder/internal/db"
	"larder/internal/ident"
	"larder/internal/quota"
)

// Kind is the kind of an event.
type Kind string

// The kinds.
const (
	Job    Kind = "job"
	Share  Kind = "share"
	Quota  Kind = "quota"
	Upload Kind = "upload"
)

const (
	// maxNotifications is the maximal number of notifications of an account.
	maxNotifications = 500
	// keepFor is how long a notification is kept.
	keepFor = 90 * 24 * time.Hour
	// sweepInterval is how often a replica deletes old notifications, and quotaInterval how often
	// it looks for quotas that are nearly used up: that reads a row for each account.
	sweepInterval = time.Hour
	quotaInterval = time.Minute
	// mergeWithin is how long after a notification of a job another one joins it, and mergeAmong is
	// the number of notifications that are looked at for that.
	mergeWithin = 10 * time.Minute
	mergeAmong  = 20
)

// Params are the parameters of a notification; each kind has its own. They are stored as JSON under
// these names.
type Params struct {
	Path string // Job: the target folder; Upload: the folder of the file

	// Name is that of the moved or copied entry or provider (Job; of a mount its path), of the file
	// (Upload), or the title or name of a share; it may be "".
	Name string

	JobID, JobType string // Job; the type is move, copy, rewind or evacuate
	Target         string // Job: of an evacuation the name of the provider that gets the objects
	Jobs           int64  // Job: number of jobs that the notification is about, see merge; 0 for 1
	Failed         bool   // Job
	Message        string // Job: why it failed
	Files          *int64 // Job: number of moved or copied files; nil for a failed one

	ShareID   string // Share
	ExpiresAt int64  // Share, ms

	Percent int64 // Quota: of the bytes that may be stored

	KeptUntil int64 // Upload, ms: until when the received parts are kept; 0 for none
}

// Event is an event to be told to an account.
type Event struct {
	ID, UserID string // ID: of the notification
	Kind       Kind
	Subject    string // names the event among those of the kind
	Params     Params
	At         int64 // ms
}

// Notification is an event that an account was told of.
type Notification struct {
	ID        string
	Kind      Kind
	Params    Params
	CreatedAt int64 // ms
	Read      bool
}

// Insert writes the notification of an event, in the transaction that makes the event true. It does
// nothing if the account has been told of that event, or does not exist. It may lock the
// notifications of the account until tx ends, so it comes last in a transaction.
func Insert(tx *db.Tx, e Event) error {
	if err := tx.LockNotifications(e.UserID); err != nil {
		return fmt.Errorf("lock notifications: %w", err)
	}
	if merged, err := merge(tx, e); err != nil || merged {
		return err
	}
	inserted, err := insert(tx, e)
	if err != nil || !inserted {
		return err
	}
	return deleteBeyond(tx, e.UserID, maxNotifications)
}

// merge adds the completed job of e to an unread notification of another one with the same type and
// target, at most mergeWithin old, and reports whether there was one: the move of a hundred
// selected files is a hundred jobs. A job ends once, so it is counted once.
func merge(tx *db.Tx, e Event) (bool, error) {
	if e.Kind != Job || e.Params.Failed {
		return false, nil
	}
	recent, err := listUnreadJobs(tx, e.UserID, e.At-mergeWithin.Milliseconds(), mergeAmong)
	if err != nil {
		return false, err
	}
	for _, n := range recent {
		p := n.Params
		if p.Failed || p.JobType != e.Params.JobType || p.Path != e.Params.Path ||
			p.Target != e.Params.Target {
			continue
		}
		p.Jobs = max(p.Jobs, 1) + 1
		if p.Files != nil && e.Params.Files != nil {
			sum := *p.Files + *e.Params.Files
			p.Files = &sum
		}
		return true, updateParams(tx, n.ID, p, e.At)
	}
	return false, nil
}

// DeleteOfUser deletes the notifications of an account that is being deleted.
func DeleteOfUser(tx *db.Tx, userID string) error { return deleteOfUser(tx, userID) }

// Config holds the dependencies of a Service.
type Config struct {
	DB  *db.DB
	IDs *ident.Source
	Now func() time.Time
}

// Service reads and sweeps the notifications of one database. Its methods are safe for concurrent
// use.
type Service struct {
	Config

	mu       sync.Mutex
	sweptAt  time.Time
	quotasAt time.Time // when quotas were last looked at
}

// New returns a Service.
func New(cfg Config) *Service { return &Service{Config: cfg} }

// List returns the notifications of an account, newest first, at most limit: those older than the
// one with the id before, or the newest for "". It also returns how many of all are unread. There
// are none before a notification that does not exist any more, since the oldest are deleted first.
func (s *Service) List(ctx context.Context, userID, before string, limit int64) (page []Notification, unread int64,
	err error) {
	q := s.DB.Read(ctx)
	if page, err = list(q, userID, before, limit); err != nil {
		return nil, 0, err
	}
	unread, err = countUnread(q, userID)
	return page, unread, err
}

// MarkRead marks the notifications with these ids as read, as far as they belong to the account,
// and returns how many are unread then.
func (s *Service) MarkRead(ctx context.Context, userID string, ids []string) (unread int64, err error) {
	return s.mark(ctx, userID, func(tx *db.Tx) error { return markRead(tx, userID, ids, s.nowMs()) })
}

// MarkAllRead marks all notifications of the account as read, and returns how many are unread then:
// those that came meanwhile.
func (s *Service) MarkAllRead(ctx context.Context, userID string) (unread int64, err error) {
	return s.mark(ctx, userID, func(tx *db.Tx) error { return markAllRead(tx, userID, s.nowMs()) })
}

// mark runs a change of the account's notifications in a transaction, and returns how many are
// unread then.
func (s *Service) mark(ctx context.Context, userID string, mark func(tx *db.Tx) error) (unread int64, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := mark(tx); err != nil {
			return err
		}
		unread, err = countUnread(tx, userID)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("mark notifications as read: %w", err)
	}
	return unread, nil
}

// Sweep notifies accounts whose quota is nearly used up, every quotaInterval, and deletes old
// notifications, every sweepInterval. The application calls it more often; most calls do nothing.
func (s *Service) Sweep(ctx context.Context) error {
	if s.isDue(&s.quotasAt, quotaInterval) {
		if err := s.warnOfQuotas(ctx); err != nil {
			return fmt.Errorf("look for quotas that are nearly used up: %w", err)
		}
	}
	if !s.isDue(&s.sweptAt, sweepInterval) {
		return nil
	}
	before := s.Now().Add(-keepFor).UnixMilli()
	for more := true; more; {
		err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
			more, err = deleteOld(tx, before)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete old notifications: %w", err)
		}
	}
	return nil
}

// isDue reports whether the interval has passed since *last, and sets *last to the present time
// then. A clock that was put back counts as passed.
func (s *Service) isDue(last *time.Time, interval time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	age := now.Sub(*last)
	if age < interval && age >= 0 {
		return false
	}
	*last = now
	return true
}

// warnOfQuotas notifies each account whose quota is nearly used up once, and again only after the
// account was below that mark in between. One conditional update decides which replica does it.
func (s *Service) warnOfQuotas(ctx context.Context) error {
	changed, err := quota.FindWarnings(s.DB.Read(ctx))
	if err != nil {
		return err
	}
	for _, userID := range changed {
		err := s.DB.Write(ctx, func(tx *db.Tx) error {
			now := s.nowMs()
			percent, warned, err := quota.UpdateWarning(tx, userID, now)
			if err != nil || !warned {
				return err
			}
			return Insert(tx, Event{ID: s.IDs.UUID(), UserID: userID, Kind: Quota, Subject: fmt.Sprint(now),
				Params: Params{Percent: percent}, At: now})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// nowMs returns the present time in ms.
func (s *Service) nowMs() int64 { return s.Now().UnixMilli() }

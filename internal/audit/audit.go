// Package audit keeps the access log: who did what to which path, for administrators to read;
// and it counts requests.
//
// What a request leaves behind is noted in memory (Record, Read, Request) and written later, in
// batches, by the goroutine that Run is. So the log holds up nothing and fails nothing: notes never
// wait for the database, what can't be written is tried again, and when too much of it has gathered
// further notes are dropped, which is logged (abuse case C113). A clean stop ends with Finish and
// loses nothing; a crash loses the last seconds and the sums of the running hour; a connection that
// breaks while PostgreSQL commits may have a batch written twice.
//
// It lies apart from the metadata: in an SQLite file of its own, or in tables of its own on
// PostgreSQL (docs/adr/0005). It holds paths and ids, never a token, key, password or link.
// Specification: Access log entry.
package audit

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"larder/internal/db"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is what the database of the log holds.
var Schema = db.Schema{Files: migrations, Table: "audit_version", Replicas: "audit_schema"}

// Action is what was done.
type Action string

// The actions.
const (
	Login         Action = "login"
	LoginFailed   Action = "login_failed"
	Register      Action = "register"
	Upload        Action = "upload"
	Download      Action = "download"
	Preview       Action = "preview"
	Delete        Action = "delete"
	Move          Action = "move"
	Rename        Action = "rename"
	Folder        Action = "folder"
	Share         Action = "share"
	ShareDownload Action = "share_download"
	Key           Action = "key"
	Admin         Action = "admin"
	WebDAV        Action = "webdav"
	FreeMode      Action = "free_mode"
)

// Actions are all of them.
var Actions = []Action{
	Login, LoginFailed, Register, Upload, Download, Preview, Delete, Move, Rename, Folder, Share, ShareDownload, Key,
	Admin, WebDAV, FreeMode,
}

// Entry is a row of the log.
type Entry struct {
	ID        int64  // given when it is written
	UserID    string // "" for a visitor
	KeyID     string // "" unless an API key was used
	IP        string // "" for sums; a network for those of an address
	Action    Action
	Path      string // a virtual path; a route's for what concerns none. At most 4,096 bytes are kept.
	Bytes     int64  // of a file that went in or out
	Status    int    // of the answer
	Count     int64  // requests it stands for; 0 is taken for 1
	CreatedAt int64  // ms; Record fills it in
}

// The bounds that hold unless a Config says otherwise.
const (
	defaultBuffer      = 20_000
	defaultHourPaths   = 10_000
	defaultMaxRows     = 5_000_000
	defaultMaxUnmerged = 600
	defaultMaxSources  = 10_000
)

// maxPath is how many bytes of a path are kept.
const maxPath = 4096

// Config is what a Log works with.
type Config struct {
	DB        *db.DB // with Schema
	Now       func() time.Time
	Log       *slog.Logger
	Retention time.Duration // age of the oldest entry

	MaxRows     int64 // rows that are kept, 0 for 5,000,000
	Buffer      int   // entries that wait to be written, 0 for 20,000
	HourPaths   int   // paths whose public reads are summed at a time, 0 for 10,000
	MaxUnmerged int   // entries of one account or address that a minute has before they are merged, 0 for 600
	MaxSources  int   // accounts, and addresses, that are counted each, 0 for 10,000
}

// Log is the access log. All methods are safe for concurrent use.
type Log struct {
	Config
	batchReady chan struct{} // a whole batch waits
	flushMu    sync.Mutex    // held by Flush

	mu              sync.Mutex
	waiting         []Entry
	dropped         int64 // since it was last told
	droppedLoggedAt time.Time
	failureLoggedAt time.Time // when a failure of the database was last told
	reads           sums[hourPath]
	minutes         map[int64]int64
	sources         minuteCounts
}

// New returns the log in cfg.DB, which must have been migrated.
func New(cfg Config) *Log {
	cfg.MaxRows = cmp.Or(cfg.MaxRows, defaultMaxRows)
	cfg.Buffer = cmp.Or(cfg.Buffer, defaultBuffer)
	cfg.HourPaths = cmp.Or(cfg.HourPaths, defaultHourPaths)
	cfg.MaxUnmerged = cmp.Or(cfg.MaxUnmerged, defaultMaxUnmerged)
	cfg.MaxSources = cmp.Or(cfg.MaxSources, defaultMaxSources)
	return &Log{
		Config: cfg, batchReady: make(chan struct{}, 1), reads: sums[hourPath]{}, minutes: map[int64]int64{},
		sources: minuteCounts{unmerged: map[source]int{}, merged: sums[mergeKey]{}},
	}
}

// Record notes an entry, with the present time; or merges it with others, where somebody does very
// much. It neither waits nor fails.
func (l *Log) Record(e Entry) {
	now := l.Now()
	e.CreatedAt, e.Path, e.Count = now.UnixMilli(), storable(e.Path), max(e.Count, 1)
	l.mu.Lock()
	if l.merge(&e) {
		l.mu.Unlock()
		return
	}
	full := len(l.waiting) >= l.Buffer
	if full {
		l.dropped++
	} else {
		l.waiting = append(l.waiting, e)
	}
	whole := len(l.waiting) >= batchSize
	l.mu.Unlock()
	if full {
		l.logDropped(now)
	}
	if whole {
		select {
		case l.batchReady <- struct{}{}:
		default: // the writer knows
		}
	}
}

// logDropped warns of entries that were dropped, once a minute at most.
func (l *Log) logDropped(now time.Time) {
	l.mu.Lock()
	n := l.dropped
	if n == 0 || now.Sub(l.droppedLoggedAt).Abs() < time.Minute {
		l.mu.Unlock()
		return
	}
	l.dropped, l.droppedLoggedAt = 0, now
	l.mu.Unlock()
	l.Log.Warn("the access log takes no more: entries were dropped", "entries", n)
}

// storable makes a text one that both databases take, and no longer than is kept: one entry that
// can't be written would hold up all the others.
func storable(path string) string {
	path = strings.ReplaceAll(strings.ToValidUTF8(path, "\uFFFD"), "\x00", "\uFFFD")
	if len(path) > maxPath {
		path = strings.ToValidUTF8(path[:maxPath], "")
	}
	return path
}

// Query is what the list is to show; the zero value of a field filters nothing.
type Query struct {
	UserID   string
	Action   Action
	Search   string // part of the path, without case
	From, To *int64 // ms, both included
	Page     int64  // from 1
	Limit    int64
}

// List returns a page of the entries that a query is about, newest first, and how many there are
// in all. Sums of an hour or a minute carry the time when it began. What was noted in the last
// second may be missing.
func (l *Log) List(ctx context.Context, q Query) (entries []Entry, total int64, err error) {
	read := l.DB.Read(ctx)
	if total, err = count(read, l.DB.Dialect(), q); err != nil {
		return nil, 0, fmt.Errorf("count the access log: %w", err)
	}
	if (q.Page-1)*q.Limit >= total {
		return nil, total, nil
	}
	if entries, err = list(read, l.DB.Dialect(), q, total); err != nil {
		return nil, 0, fmt.Errorf("list the access log: %w", err)
	}
	return entries, total, nil
}

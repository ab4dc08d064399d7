// Package audit writes the access log, which tells administrators who did what to which path. It
// counts requests, and keeps the use of each storage provider by the day.
//
// Record, CountRead and CountRequest store their data in memory. The goroutine in Run writes it to
// the database in batches. So the log delays and fails no request: recording never waits for the
// database, a failed write is tried again, and when too many entries wait, further ones are dropped
// and the drop is logged (abuse case C113). A clean stop calls Finish and loses nothing. A crash
// loses the last seconds and the sums of the running hour. If a connection breaks while PostgreSQL
// commits, a batch may be written twice.
//
// The log is separate from the metadata: in an SQLite file of its own, or in tables of its own on
// PostgreSQL (docs/adr/0005). It contains paths and ids, never a token, key, password or link.
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

// Schema is the schema of the log's database.
var Schema = db.Schema{Files: migrations, Table: "audit_version", Replicas: "audit_schema"}

// Action is the kind of an entry.
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
	Restore       Action = "restore" // from the trash
	Purge         Action = "purge"   // of the trash
	Rewind        Action = "rewind"  // of a folder, to an earlier time
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

// Actions lists all actions.
var Actions = []Action{
	Login, LoginFailed, Register, Upload, Download, Preview, Delete, Restore, Purge, Rewind, Move, Rename, Folder,
	Share, ShareDownload, Key, Admin, WebDAV, FreeMode,
}

// Entry is one row of the log.
type Entry struct {
	ID        int64  // assigned when it is written
	UserID    string // "" for a visitor
	KeyID     string // "" unless an API key was used
	IP        string // "" for sums; a network for the merged entries of an address
	Action    Action
	Path      string // a virtual path, or a route for a request without one; at most 4,096 bytes are stored
	Bytes     int64  // size of the file that was received or sent
	Status    int    // of the response
	Count     int64  // number of requests that the entry stands for; 0 means 1
	CreatedAt int64  // ms; set by Record
	RequestID string // "" for sums and merged entries
	Method    string // of the request; "" for sums, merged entries and commands
}

// The defaults of Config.
const (
	defaultBuffer      = 20_000
	defaultHourPaths   = 10_000
	defaultMaxRows     = 5_000_000
	defaultMaxUnmerged = 600
	defaultMaxSources  = 10_000
	defaultTopEntries  = 20_000
)

// maxPath is the number of bytes of a path that are stored.
const maxPath = 4096

// Config holds the dependencies and limits of a Log.
type Config struct {
	DB        *db.DB // with Schema
	Now       func() time.Time
	Log       *slog.Logger
	Retention time.Duration // maximum age of an entry

	MaxRows     int64 // rows that are kept, 0 for 5,000,000
	Buffer      int   // entries that may wait to be written, 0 for 20,000
	HourPaths   int   // paths whose public reads are summed at a time, 0 for 10,000
	MaxUnmerged int   // entries of one account or address in a minute before further ones are merged, 0 for 600
	MaxSources  int   // accounts, and addresses, that are counted separately, 0 for 10,000
	TopEntries  int64 // entries of each action that Top sums at most, 0 for 20,000
}

// Log is the access log. All methods are safe for concurrent use.
type Log struct {
	Config
	batchReady chan struct{} // receives a value when a whole batch waits
	flushMu    sync.Mutex    // held by Flush

	mu              sync.Mutex
	waiting         []Entry
	dropped         int64 // since it was last logged
	droppedLoggedAt time.Time
	failureLoggedAt time.Time // when a failure of the database was last logged
	reads           sums[hourPath]
	minutes         map[int64]requestCount
	sources         minuteCounts
}

// New returns the Log in cfg.DB, which must have been migrated. Call Run to write entries, and
// Finish at the end.
func New(cfg Config) *Log {
	cfg.MaxRows = cmp.Or(cfg.MaxRows, defaultMaxRows)
	cfg.Buffer = cmp.Or(cfg.Buffer, defaultBuffer)
	cfg.HourPaths = cmp.Or(cfg.HourPaths, defaultHourPaths)
	cfg.MaxUnmerged = cmp.Or(cfg.MaxUnmerged, defaultMaxUnmerged)
	cfg.MaxSources = cmp.Or(cfg.MaxSources, defaultMaxSources)
	cfg.TopEntries = cmp.Or(cfg.TopEntries, defaultTopEntries)
	return &Log{
		Config: cfg, batchReady: make(chan struct{}, 1), reads: sums[hourPath]{}, minutes: map[int64]requestCount{},
		sources: minuteCounts{unmerged: map[source]int{}, merged: sums[mergeKey]{}},
	}
}

// Record adds an entry with the present time to those that wait to be written. When its source
// (account or network) exceeds the limit of the minute, Record merges the entry with others. It
// neither waits nor fails; a full buffer drops the entry.
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
		default: // the writer is notified already
		}
	}
}

// logDropped logs the number of entries that were dropped since it last did so, at most once a
// minute.
func (l *Log) logDropped(now time.Time) {
	l.mu.Lock()
	n := l.dropped
	if n == 0 || now.Sub(l.droppedLoggedAt).Abs() < time.Minute {
		l.mu.Unlock()
		return
	}
	l.dropped, l.droppedLoggedAt = 0, now
	l.mu.Unlock()
	l.Log.Warn("the buffer of the access log is full: entries were dropped", "entries", n)
}

// storable makes a text valid for both databases and cuts it to maxPath bytes. One entry that
// cannot be written would block all others.
func storable(path string) string {
	path = strings.ReplaceAll(strings.ToValidUTF8(path, "\uFFFD"), "\x00", "\uFFFD")
	if len(path) > maxPath {
		path = strings.ToValidUTF8(path[:maxPath], "")
	}
	return path
}

// Query selects entries. The zero value of a field does not filter.
type Query struct {
	UserID   string
	Action   Action
	Failed   bool   // only entries with a status of 400 or more
	Search   string // part of the path, compared without case, or a whole request id
	From, To *int64 // ms, both inclusive
	Page     int64  // from 1
	Limit    int64
}

// List returns a page of the entries that a query selects, newest first, and their total number.
// Sums of an hour or a minute have the time at which it began. Entries of the last second may be
// missing.
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

package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"larder/internal/blob/s3"
	"larder/internal/db"
	"larder/internal/object"
)

// SourceOptions describe a backup in a directory or in a bucket.
type SourceOptions struct {
	Dir     string      // "" for a bucket
	Bucket  *s3.Options // nil for a directory
	DataDir string      // for local copies of the databases of a backup in a bucket
	Now     func() time.Time
	Log     *slog.Logger
}

// Source is a backup in which copies of objects are looked for. Nothing is written to it. Backups
// into it may run meanwhile: they can remove a copy, and do not change one. Not for concurrent use.
type Source struct {
	SourceOptions
	from      source
	databases map[string]*snapshotCopy // by snapshot
}

// snapshotCopy is the database of a snapshot. path is that of the local copy, "" for none.
type snapshotCopy struct {
	*db.DB
	path string
}

const (
	// copyPattern matches the names of local copies of databases, in the data directory.
	copyPattern = "scrub-*" + databaseSuffix
	// copyLeftAfter is the age of a local copy that an interrupted process has left: its name is
	// removed as soon as it is complete.
	copyLeftAfter = 24 * time.Hour
)

// OpenSource opens a backup.
func OpenSource(ctx context.Context, o SourceOptions) (*Source, error) {
	from, err := openSource(o.Dir, o.Bucket)
	if err != nil {
		return nil, err
	}
	s := &Source{SourceOptions: o, from: from, databases: map[string]*snapshotCopy{}}
	if _, err := from.identity(ctx); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("there is no backup in %s", from)
		}
		return nil, errors.Join(err, s.Close())
	}
	return s, s.removeLeftCopies()
}

// Copies returns where the backup may have the content of an object: below its present key, and
// below those of all objects with the same content in its snapshots, the newest first. The second
// kind finds objects that were moved, evacuated or healed after the backup. The SHA-256 must not be
// empty. A copy can be read until the next one is asked for.
func (s *Source) Copies(ctx context.Context, of object.Record) iter.Seq2[object.Copy, error] {
	return func(yield func(object.Copy, error) bool) {
		tried := map[object.Location]bool{}
		give := func(at object.Location) (more bool) {
			if tried[at] {
				return true
			}
			tried[at] = true
			objects, err := s.open(ctx, at.Provider)
			if err != nil {
				return yield(object.Copy{}, err)
			}
			defer func() { _ = objects.Close() }() // opened for reading
			return yield(object.Copy{From: objects, Key: at.Key}, nil)
		}
		if !give(of.Location) {
			return
		}
		names, err := s.from.snapshots(ctx)
		if err != nil {
			yield(object.Copy{}, err)
			return
		}
		s.forget(names)
		for _, name := range slices.Backward(names) {
			locations, err := s.find(ctx, name, of)
			if err != nil && !yield(object.Copy{}, fmt.Errorf("read the snapshot %s of %s: %w", name, s.from, err)) {
				return
			}
			for _, at := range locations {
				if !give(at) {
					return
				}
			}
		}
	}
}

// open opens the objects of a provider in the backup.
func (s *Source) open(ctx context.Context, providerID string) (objectReader, error) {
	if err := checkProviderName(providerID); err != nil {
		return nil, err
	}
	objects, err := s.from.openObjects(ctx, providerID)
	if err != nil {
		return nil, fmt.Errorf("open the objects of the backup in %s: %w", s.from, err)
	}
	return objects, nil
}

// find returns where a snapshot has objects of that content.
func (s *Source) find(ctx context.Context, snapshot string, of object.Record) ([]object.Location, error) {
	d := s.databases[snapshot]
	if d == nil {
		var err error
		if d, err = s.openDatabase(ctx, snapshot); err != nil {
			return nil, err
		}
		s.databases[snapshot] = d
	}
	return sameContent(d.Read(ctx), of)
}

// openDatabase opens the database of a snapshot: in its directory, or a local copy, whose name is
// removed at once where the operating system allows it.
func (s *Source) openDatabase(ctx context.Context, snapshot string) (_ *snapshotCopy, err error) {
	if s.Bucket == nil {
		d, err := db.OpenSnapshot(ctx, filepath.Join(s.Dir, snapshotsName, snapshot, databaseName), s.Log)
		return &snapshotCopy{DB: d}, err
	}
	m, err := readManifest(ctx, s.from, snapshot)
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(s.DataDir, copyPattern)
	if err != nil {
		return nil, err
	}
	c := &snapshotCopy{path: file.Name()}
	if err = errors.Join(file.Close(), fetchFile(ctx, s.from, snapshot, m, databaseName, c.path)); err == nil {
		c.DB, err = db.OpenSnapshot(ctx, c.path, s.Log)
	}
	_ = os.Remove(c.path)
	return c, err
}

// close closes the database and removes the local copy.
func (c *snapshotCopy) close() {
	_ = c.Close() // opened for reading
	if c.path != "" {
		_ = os.Remove(c.path) // usually removed before
	}
}

// forget closes the databases of all snapshots but those named.
func (s *Source) forget(names []string) {
	for name, d := range s.databases {
		if !slices.Contains(names, name) {
			d.close()
			delete(s.databases, name)
		}
	}
}

// removeLeftCopies removes the local copies that an interrupted process has left.
func (s *Source) removeLeftCopies() error {
	if s.Bucket == nil {
		return nil
	}
	paths, err := filepath.Glob(filepath.Join(s.DataDir, copyPattern))
	if err != nil {
		return err
	}
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil && s.Now().Sub(info.ModTime()) > copyLeftAfter {
			_ = os.Remove(path) // or another process does
		}
	}
	return nil
}

// Close ends the use of the backup.
func (s *Source) Close() error {
	s.forget(nil)
	return s.from.close()
}

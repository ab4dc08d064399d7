package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/disk"
	"larder/internal/osfile"
)

// Source is a backup that is open for reading its objects. No backup into it can begin before it is
// closed. Not for concurrent use.
type Source struct {
	dir    string
	marker string // of the pools
	now    func() time.Time
	lock   *os.File
	pools  map[string]*disk.Store // by provider
}

// OpenSource opens the backup in a directory. Nothing is written to it.
func OpenSource(dir string, now func() time.Time) (*Source, error) {
	id, err := readIdentity(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no backup in %s", dir)
	}
	if err != nil {
		return nil, err
	}
	lock, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("lock the backup: %w", err)
	}
	if err := osfile.Lock(lock, false); err != nil {
		return nil, errors.Join(fmt.Errorf("a backup into %s is under way: wait until it is done (%w)", dir, err),
			lock.Close())
	}
	return &Source{dir: dir, marker: poolMarker(id.Fingerprint), now: now, lock: lock,
		pools: map[string]*disk.Store{}}, nil
}

// Store returns the objects of a provider in the backup, under the keys that they had when it was
// made. A provider that the backup does not know has none.
func (s *Source) Store(providerID string) (blob.Store, error) {
	if pool := s.pools[providerID]; pool != nil {
		return pool, nil
	}
	if err := checkProviderName(providerID); err != nil {
		return nil, err
	}
	pool, err := disk.Open(filepath.Join(s.dir, objectsName, providerID), s.marker, disk.Options{Now: s.now})
	if err != nil {
		return nil, fmt.Errorf("open the objects of a backup: %w", err)
	}
	s.pools[providerID] = pool
	return pool, nil
}

// Close ends the use of the backup.
func (s *Source) Close() error {
	for _, pool := range s.pools {
		_ = pool.Close() // closes descriptors
	}
	return s.lock.Close()
}

package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"larder/internal/blob"
	"larder/internal/osfile"
)

const (
	markerName    = ".larder-store" // holds the store's id and a newline
	markerNewName = ".larder-store.new"
	tempName      = "tmp"
	maxID         = 128 // bytes
)

// ErrForeign refuses a path that is no directory, the directory of another store, or one that holds
// other files.
var ErrForeign = errors.New("not an empty directory and not this store's")

// Create makes dir a store with that id. It creates the directory itself, whose parent must exist,
// then `tmp/`, and the marker last. Repeated and parallel calls with the same id succeed. Create
// returns ErrForeign for the directory of another store and for one that holds anything else,
// except the `lost+found` of a new disk.
func Create(dir, id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create store: %w", err)
	}
	root, err := openDirPath(dir)
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("create store: %s: %w", dir, ErrForeign)
	}
	if err != nil {
		return fmt.Errorf("create store: %w", err)
	}
	defer root.Close()
	// of two parallel calls one creates the store; on a file system without such locks one of them
	// fails
	_ = lockDir(root)
	switch _, err := readMarker(root, id); {
	case err == nil:
		return syncPath(filepath.Dir(dir)) // the process that created the store may have ended before this sync
	case !errors.Is(err, syscall.ENOENT):
		return fmt.Errorf("create store: %w", err)
	}
	names, err := root.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("create store: %w", err)
	}
	for _, name := range names {
		if name != "lost+found" && name != tempName && name != markerNewName {
			return fmt.Errorf("create store: %s holds %.80q: %w", dir, name, ErrForeign)
		}
	}
	if err := mkdirAt(root, tempName); err != nil && !errors.Is(err, syscall.EEXIST) {
		return fmt.Errorf("create store: %w", err)
	}
	if err := writeMarker(root, id); err != nil {
		return fmt.Errorf("create store: %w", err)
	}
	return syncPath(filepath.Dir(dir))
}

// MakeDir creates a directory and its missing parents with mode 0700, and returns when their names
// are durable. An existing directory keeps its mode. Error: that of os.Mkdir or of the sync.
func MakeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err := MakeDir(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		if info, statErr := os.Stat(dir); statErr == nil && info.IsDir() {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return syncPath(filepath.Dir(dir))
}

// writeMarker creates the marker file with id in root, durably. It writes another file and renames
// it, so that a crash never leaves half a marker. Error: EEXIST when root has a marker.
func writeMarker(root *os.File, id string) error {
	f, err := openAt(root, markerNewName, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, id+"\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := renameNoReplace(root, markerNewName, root, markerName); err != nil {
		return err
	}
	return root.Sync()
}

// syncPath syncs a directory, so that the names in it are durable.
func syncPath(dir string) error {
	if err := osfile.Sync(dir); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}

// checkID refuses ids that do not fit on the one line of a marker: empty, longer than maxID bytes,
// or with spaces or control characters.
func checkID(id string) error {
	if id == "" || len(id) > maxID || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("invalid store id %.80q", id)
	}
	return nil
}

// readMarker checks that root holds the marker of store id, and returns the marker's properties.
// Errors: ErrForeign for the marker of another store, ENOENT for none.
func readMarker(root *os.File, id string) (fileStat, error) {
	f, st, err := openRegular(root, markerName)
	if err != nil {
		return fileStat{}, err
	}
	defer f.Close()
	found, err := io.ReadAll(io.LimitReader(f, maxID+2))
	if err != nil {
		return fileStat{}, err
	}
	if got := strings.TrimSuffix(string(found), "\n"); got != id {
		return fileStat{}, fmt.Errorf("%s belongs to store %.80q, not to %q: %w", root.Name(), got, id, ErrForeign)
	}
	return st, nil
}

// acquire checks the marker by its path and returns the open directory of the store as a volume,
// which the caller releases. While nothing has changed this costs one lstat. When another disk was
// mounted or the marker was rewritten, acquire opens the directory again. Error:
// blob.ErrUnavailable.
func (s *Store) acquire() (*volume, error) {
	marker, missing := lstatPath(s.marker)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, blob.Unavailable("use store", fs.ErrClosed)
	}
	if missing == nil && s.volume != nil && s.volume.marker == marker {
		s.volume.refs.Add(1)
		return s.volume, nil
	}
	s.dropVolume()
	if missing != nil {
		return nil, blob.Unavailable("look for the store's marker", missing)
	}
	v, err := openVolume(s.dir, s.id)
	if err != nil {
		return nil, storeError("open store", err)
	}
	v.space = s.space
	s.volume = v
	v.refs.Add(1)
	return v, nil
}

// dropVolume releases the current volume. Operations in progress keep it open until they end. The
// caller holds s.mu.
func (s *Store) dropVolume() {
	if s.volume != nil {
		s.volume.release()
		s.volume = nil
	}
}

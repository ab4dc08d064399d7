package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// volume is a store's directory, verified and open. It closes when the last user releases it.
type volume struct {
	root, tmp *os.File
	marker    markerStat
	space     *freeSpace
	refs      atomic.Int64

	mu      sync.Mutex
	dirs    map[string]*shardDir // those in use by a Put, by path below root
	durable map[string]bool      // directories whose own entry is durable; as many as there are shard directories
}

func openVolume(dir, id string) (*volume, error) {
	root, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	v := &volume{root: root, dirs: map[string]*shardDir{}, durable: map[string]bool{}}
	if v.marker, err = readMarker(root, id); err == nil {
		v.tmp, err = openOrMakeDir(root, tempName)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	v.refs.Store(1)
	return v, nil
}

func (v *volume) release() {
	if v.refs.Add(-1) == 0 {
		v.root.Close() // directories, opened to read
		v.tmp.Close()
	}
}

// openDir opens an existing directory below root. The caller closes it.
func (v *volume) openDir(path string) (*os.File, error) {
	return v.descend(path, func(parent *os.File, name, _ string) (*os.File, error) {
		return openAt(parent, name, openDirectory, 0)
	})
}

// makeDir opens a directory below root, making what is missing on the way, and returns when its
// own name is durable.
func (v *volume) makeDir(path string) (*os.File, error) {
	return v.descend(path, func(parent *os.File, name, path string) (*os.File, error) {
		dir, err := openOrMakeDir(parent, name)
		if err != nil {
			return nil, err
		}
		if err := v.makeDurable(parent, path); err != nil {
			dir.Close()
			return nil, err
		}
		return dir, nil
	})
}

// descend steps from root down path with step, which gets the open parent, the name in it and
// the path so far.
func (v *volume) descend(path string, step func(parent *os.File, name,
	path string) (*os.File, error)) (*os.File, error) {
	at, end := v.root, 0
	for name := range strings.SplitSeq(path, "/") {
		end += len(name)
		next, err := step(at, name, path[:end])
		if at != v.root {
			at.Close()
		}
		if err != nil {
			return nil, err
		}
		at = next
		end++ // the slash
	}
	return at, nil
}

// makeDurable syncs parent unless the entry of path in it is known to be durable. A directory that
// is found may have been made a moment ago, by another Put or by a process that is gone, so that
// the first use in this process syncs in either case.
func (v *volume) makeDurable(parent *os.File, path string) error {
	v.mu.Lock()
	done := v.durable[path]
	v.mu.Unlock()
	if done {
		return nil
	}
	// of its own: after a failed sync no descriptor is used for another
	again, err := openAt(parent, ".", openDirectory, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(again.Sync(), again.Close()); err != nil {
		// The entry may be lost while memory still shows it, and no later sync would write it:
		// it must be made anew. Where the directory holds objects, its entry was durable
		// before, and it stays.
		_ = syscall.Rmdir(filepath.Join(parent.Name(), filepath.Base(path)))
		return err
	}
	v.mu.Lock()
	v.durable[path] = true
	v.mu.Unlock()
	return nil
}

func openOrMakeDir(parent *os.File, name string) (*os.File, error) {
	dir, err := openAt(parent, name, openDirectory, 0)
	if !errors.Is(err, syscall.ENOENT) {
		return dir, err
	}
	if err := mkdirAt(parent, name); err != nil && !errors.Is(err, syscall.EEXIST) {
		return nil, err
	}
	return openAt(parent, name, openDirectory, 0)
}

// shardDir is a shard directory that Puts side by side share while they put their names into it.
type shardDir struct {
	path  string
	file  *os.File
	sync  *groupSync
	ready sync.Once
	err   error // of opening
	users int   // guarded by volume.mu
}

// enterDir returns the shared directory of path, made durable where it is new.
// The caller leaves it.
func (v *volume) enterDir(path string) (*shardDir, error) {
	v.mu.Lock()
	d := v.dirs[path]
	if d == nil {
		d = &shardDir{path: path}
		v.dirs[path] = d
	}
	d.users++
	v.mu.Unlock()
	d.ready.Do(func() {
		if d.file, d.err = v.makeDir(path); d.err == nil {
			d.sync = newGroupSync(d.file.Sync)
		}
	})
	if d.err != nil {
		v.leaveDir(d)
		return nil, d.err
	}
	return d, nil
}

func (v *volume) leaveDir(d *shardDir) {
	v.mu.Lock()
	defer v.mu.Unlock()
	d.users--
	if d.users > 0 {
		return
	}
	if v.dirs[d.path] == d {
		delete(v.dirs, d.path)
	}
	if d.file != nil {
		d.file.Close() // its content was synced or has failed by now
	}
}

// abandonDir makes sure that nobody else enters d: its sync failed, and later Puts open a
// descriptor of their own.
func (v *volume) abandonDir(d *shardDir) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dirs[d.path] == d {
		delete(v.dirs, d.path)
	}
}

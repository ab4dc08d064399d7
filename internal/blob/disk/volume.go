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

// volume is the verified and open directory of a store. It is closed when the last user releases
// it.
type volume struct {
	root, tmp *os.File
	marker    fileStat
	space     *freeSpace
	refs      atomic.Int64

	mu   sync.Mutex
	dirs map[string]*shardDir // those in use by a Put or Finish, by path below root
	// paths of directories whose own entry is durable; bounded by the number of shard directories
	durable map[string]bool
}

// openVolume opens dir and its tmp/ after it has checked that the marker names store id. The caller
// holds the first reference and calls release. Errors: those of readMarker and of the operating
// system.
func openVolume(dir, id string) (*volume, error) {
	root, err := openDirPath(dir)
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

// release gives one reference back and closes the directories with the last one.
func (v *volume) release() {
	if v.refs.Add(-1) == 0 {
		v.root.Close() // directories, opened for reading
		v.tmp.Close()
	}
}

// openDir opens an existing directory by its path relative to root. The caller closes it. Error:
// ENOENT.
func (v *volume) openDir(path string) (*os.File, error) {
	return v.descend(path, func(parent *os.File, name, _ string) (*os.File, error) {
		return openAt(parent, name, openDirectory, 0)
	})
}

// makeDir opens a directory by its path relative to root, creating the missing ones on the way, and
// returns when their names are durable. The caller closes it.
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

// descend opens one directory after the other along path, starting at root, and returns the last
// one, which the caller closes. step opens one of them: it receives the open parent, the name in it
// and the path so far.
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

// makeDurable syncs parent unless the entry of path in it is known to be durable. An existing
// directory may have been created a moment ago by another Put or by a process that has ended, so
// the first use in this process always syncs.
func (v *volume) makeDurable(parent *os.File, path string) error {
	v.mu.Lock()
	done := v.durable[path]
	v.mu.Unlock()
	if done {
		return nil
	}
	// a descriptor of its own: after a failed sync a descriptor is never synced again
	again, err := openAt(parent, ".", openDirectory, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(again.Sync(), again.Close()); err != nil {
		// The entry may be lost on the disk although the kernel still shows it, and no later sync
		// would write it. The directory must be created again. If it holds objects, its entry was
		// durable before, and Rmdir fails.
		_ = syscall.Rmdir(filepath.Join(parent.Name(), filepath.Base(path)))
		return err
	}
	v.mu.Lock()
	v.durable[path] = true
	v.mu.Unlock()
	return nil
}

// openOrMakeDir opens the directory name in parent and creates it if it is missing. It does not
// sync parent.
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

// shardDir is an open shard directory that parallel Puts share.
type shardDir struct {
	path  string
	file  *os.File
	sync  *groupSync
	ready sync.Once
	err   error // the error of opening it
	users int   // guarded by volume.mu
}

// enterDir returns the open directory at path, which is relative to root and shared by all Puts
// into it, and creates it durably if it is missing. Unless enterDir fails, the caller leaves it
// with leaveDir, and calls abandonDir before that if a sync of the directory has failed.
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

// leaveDir ends the caller's use of d. The last user closes the directory.
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
		d.file.Close() // its content was synced, or the sync has failed
	}
}

// abandonDir removes d from the shared directories after a failed sync. Later Puts open a
// descriptor of their own.
func (v *volume) abandonDir(d *shardDir) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dirs[d.path] == d {
		delete(v.dirs, d.path)
	}
}

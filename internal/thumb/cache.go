package thumb

import (
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // Dimensions reads the types of thumbnails
	_ "image/png"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "golang.org/x/image/webp"

	"larder/internal/blob"
	"larder/internal/thumb/picture"
)

const (
	maxBytes   = 1 << 30 // bytes of all thumbnails, counted in blocks
	maxEntries = 100_000
	block      = 4 << 10
	// age of a temporary file after which no process writes to it any more, and age of a recorded
	// time of use after which it is recorded anew
	maxIdle   = time.Hour
	temporary = "tmp-"
)

// cache keeps thumbnails as files `ab/<content>_<edge>_<half a SHA-256>.<type>` below a directory.
// The hash is that of the file's bytes. After a restart a file is compared with its hash before it
// is served, so that files need no sync. The least recently used files are removed first. Several
// processes may use one directory: each counts the files that it knows, and treats a file that
// another process has removed as absent.
type cache struct {
	dir   string
	limit int64 // bytes
	now   func() time.Time

	mu      sync.Mutex // guards the fields below
	loaded  bool
	entries map[key]*list.Element
	used    list.List // of *entry, the most recently used first
	bytes   int64     // in blocks
}

// entry is a file of the cache.
type entry struct {
	key
	name     string // below the directory
	hash     string
	ext      string // the extension
	size     int64
	touched  time.Time // modification time of the file
	verified bool      // the content has the hash of the file's name
}

// types are the MIME types of thumbnails by extension.
var types = map[string]string{"webp": "image/webp", "jpg": "image/jpeg", "png": "image/png"}

// namePattern is the form of the file names.
var namePattern = regexp.MustCompile(`^([0-9A-Za-z-]{2,64})_([0-9]{1,4})_([0-9a-f]{32})\.(webp|jpg|png)$`)

// Thumbnail is an open thumbnail. It is a blob.FileBacked.
type Thumbnail struct {
	*osFile
	size int64
	Type string // image/webp, image/jpeg or image/png
	Ext  string // the extension of that type
	ETag string // strong and quoted; differs for other bytes
}

type osFile = os.File // keeps the name File free for the method

var _ blob.FileBacked = Thumbnail{}

// Size returns the length in bytes.
func (t Thumbnail) Size() int64 { return t.size }

// Dimensions returns width and height in pixels, from the header of the thumbnail.
func (t Thumbnail) Dimensions() (width, height int, err error) {
	head, _, err := image.DecodeConfig(io.NewSectionReader(t, 0, t.size))
	return head.Width, head.Height, err
}

// File returns the file.
func (t Thumbnail) File() *os.File { return t.osFile }

// open opens the thumbnail k, which the caller closes, and records its use. found is false when it
// is not in the cache, or its file is missing or damaged: the caller then makes it. Error: the
// directory cannot be read.
func (c *cache) open(k key) (t Thumbnail, found bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		return Thumbnail{}, false, err
	}
	at := c.entries[k]
	if at == nil {
		return Thumbnail{}, false, nil
	}
	e := at.Value.(*entry)
	file, err := c.openVerified(e)
	if err != nil { // missing or damaged
		c.remove(at)
		return Thumbnail{}, false, nil
	}
	c.used.MoveToFront(at)
	if now := c.now(); now.Sub(e.touched) > maxIdle {
		e.touched = now
		_ = os.Chtimes(file.Name(), now, now) // without the new time it may be removed too early, after a restart
	}
	return Thumbnail{osFile: file, size: e.size, Type: types[e.ext], Ext: e.ext, ETag: `"` + e.hash + `"`}, true, nil
}

// openVerified opens the file of an entry and checks its size and, once per process, its hash.
func (c *cache) openVerified(e *entry) (*os.File, error) {
	file, err := os.Open(filepath.Join(c.dir, e.name))
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Size() != e.size {
		err = errors.New("it has another size")
	}
	if err == nil && !e.verified {
		var hash string
		if hash, err = hashOf(file); err == nil && hash != e.hash {
			err = errors.New("it has another hash")
		}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	e.verified = true
	return file, nil
}

// hashOf returns the first half of a file's SHA-256 in hexadecimal, as file names hold it, and
// leaves the file at its beginning.
func hashOf(file *os.File) (string, error) {
	h := sha256.New()
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	_, err := file.Seek(0, io.SeekStart)
	return hex.EncodeToString(h.Sum(nil)[:16]), err
}

// draft is a temporary file to which a thumbnail is written.
type draft struct{ file *os.File }

// discard closes a draft and removes its file, which is gone already when the draft was stored.
func (d draft) discard() {
	d.file.Close() // a stored draft was read back completely
	_ = os.Remove(d.file.Name())
}

// createDraft creates an empty temporary file in the directory of the cache. The caller discards
// it.
func (c *cache) createDraft() (draft, error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return draft{}, fmt.Errorf("keep a thumbnail: %w", err)
	}
	file, err := os.CreateTemp(c.dir, temporary+"*")
	if err != nil {
		return draft{}, fmt.Errorf("keep a thumbnail: %w", err)
	}
	return draft{file}, nil
}

// store moves a draft into the cache as the thumbnail k, in place of an earlier one, and removes
// the least recently used thumbnails beyond the limits. Fault: NotFound, when the draft is not a
// picture.
func (c *cache) store(k key, d draft) error {
	kind, size, err := extensionOf(d.file)
	if err != nil {
		return noThumbnail(err)
	}
	hash, err := hashOf(d.file)
	if err != nil {
		return fmt.Errorf("keep a thumbnail: %w", err)
	}
	e := &entry{key: k, hash: hash, ext: kind, size: size, touched: c.now(), verified: true}
	file := fmt.Sprintf("%s_%d_%s.%s", k.content, k.edge, hash, kind)
	if !namePattern.MatchString(file) {
		return fmt.Errorf("keep a thumbnail: %q is not a valid file name", file)
	}
	e.name = filepath.Join(file[:2], file)
	if err := os.MkdirAll(filepath.Join(c.dir, file[:2]), 0o700); err != nil {
		return fmt.Errorf("keep a thumbnail: %w", err)
	}
	if err := os.Rename(d.file.Name(), filepath.Join(c.dir, e.name)); err != nil {
		return fmt.Errorf("keep a thumbnail: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		return err
	}
	if before := c.entries[k]; before != nil {
		c.forget(before, before.Value.(*entry).name != e.name)
	}
	c.add(e)
	for c.bytes > c.limit || len(c.entries) > maxEntries {
		c.remove(c.used.Back())
	}
	return nil
}

// extensionOf returns the extension (webp, jpg or png) of a child's output, recognized by its first
// bytes, and its size in bytes. Errors: errNoPicture for any other content, or one longer than
// picture.MaxOutput.
func extensionOf(file *os.File) (kind string, size int64, err error) {
	head := make([]byte, 12)
	if _, err := file.ReadAt(head, 0); err != nil {
		return "", 0, fmt.Errorf("read a thumbnail: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return "", 0, err
	}
	begin := string(head)
	switch {
	case info.Size() > picture.MaxOutput:
		err = errors.New("it is too long")
	case begin[:4] == "RIFF" && begin[8:] == "WEBP":
		kind = "webp"
	case begin[:3] == "\xff\xd8\xff":
		kind = "jpg"
	case begin[:8] == "\x89PNG\r\n\x1a\n":
		kind = "png"
	default:
		err = errNoPicture
	}
	return kind, info.Size(), err
}

// add adds an entry to the index as the most recently used one. The caller holds mu.
func (c *cache) add(e *entry) {
	c.entries[e.key] = c.used.PushFront(e)
	c.bytes += blocks(e.size)
}

// blocks returns the bytes that a file of size bytes occupies on the disk, in whole blocks.
func blocks(size int64) int64 { return (size + block - 1) / block * block }

// remove removes an entry from the index and its file from the disk. The caller holds mu.
func (c *cache) remove(at *list.Element) { c.forget(at, true) }

// forget removes an entry from the index, and its file from the disk if file is true. The caller
// holds mu.
func (c *cache) forget(at *list.Element, file bool) {
	e := at.Value.(*entry)
	c.used.Remove(at)
	delete(c.entries, e.key)
	c.bytes -= blocks(e.size)
	if file {
		_ = os.Remove(filepath.Join(c.dir, e.name)) // a file that remains is found at the next start
	}
}

// load reads the directory into the index, once per process, and removes old temporary files. The
// caller holds mu.
func (c *cache) load() error {
	if c.loaded {
		return nil
	}
	c.entries = map[key]*list.Element{}
	var found []*entry
	err := filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreNotExist(err)
		}
		info, err := d.Info()
		if err != nil {
			return ignoreNotExist(err)
		}
		m := namePattern.FindStringSubmatch(d.Name())
		switch {
		case m != nil:
			edge, _ := strconv.Atoi(m[2]) // at most four digits
			found = append(found, &entry{
				key: key{m[1], edge}, name: filepath.Join(filepath.Base(filepath.Dir(path)), d.Name()), hash: m[3],
				ext: m[4], size: info.Size(), touched: info.ModTime(),
			})
		case strings.HasPrefix(d.Name(), temporary) && c.now().Sub(info.ModTime()) > maxIdle:
			_ = os.Remove(path) // otherwise the next start removes it
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the directory of thumbnails: %w", err)
	}
	slices.SortFunc(found, func(a, b *entry) int { return a.touched.Compare(b.touched) })
	for _, e := range found {
		if before := c.entries[e.key]; before != nil {
			c.remove(before)
		}
		c.add(e)
	}
	c.loaded = true
	return nil
}

// ignoreNotExist returns err, or nil when it says that a file does not exist: another process has
// removed the file.
func ignoreNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// contents lists the ids of the contents that have thumbnails, each once, sorted.
func (c *cache) contents() ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(c.entries))
	for k := range c.entries {
		ids = append(ids, k.content)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// size returns the number of known thumbnails and their bytes on the disk.
func (c *cache) size() (files int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries), c.bytes
}

// removeContent removes the thumbnails of all edges of the content with that id.
func (c *cache) removeContent(content string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, edge := range picture.Edges {
		if at := c.entries[key{content, edge}]; at != nil {
			c.remove(at)
		}
	}
}

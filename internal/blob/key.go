package blob

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"larder/internal/ident"
)

const (
	maxKey    = 512 // bytes
	maxExt    = 16  // characters
	maxPrefix = 64  // characters per segment

	shardKeys   = 256         // number of keys after which a shard directory is changed
	shardMaxAge = time.Second // time after which it is changed
)

// Key names an object inside its store: `[prefix/]ab/<32 hex>[.ext]`. Keys are opaque: only NewKey
// builds them, and ParseKey reads them back. Their 128 random bits make them unique; `ab` is one of
// 256 shard directories and not part of those bits.
type Key string

// NewKey draws the random key of a new object. Its directory is the current one of shard, or a
// random one when shard is nil. ext is the file name's extension, with or without its dot. NewKey
// keeps it in lower case when it has 1 to 16 characters of [a-z0-9], and drops it otherwise.
func NewKey(ids *ident.Source, shard *Shard, ext string) Key {
	key := shard.directory(ids) + "/" + ids.Hex(16)
	ext = strings.ToLower(strings.TrimPrefix(ext, "."))
	if isPlainName(ext, maxExt, "") {
		key += "." + ext
	}
	return Key(key)
}

// ParseKey parses a stored key. Error: ErrKey for a key that NewKey cannot have built.
func ParseKey(s string) (Key, error) {
	parts := strings.Split(s, "/")
	if len(s) > maxKey || len(parts) < 2 {
		return "", invalidKey(s)
	}
	prefix, shard, name := parts[:len(parts)-2], parts[len(parts)-2], parts[len(parts)-1]
	for i, segment := range prefix {
		if !isPrefixSegment(i, segment) {
			return "", invalidKey(s)
		}
	}
	random, ext, dotted := strings.Cut(name, ".")
	if !isLowerHex(shard, 2) || !isLowerHex(random, 32) || dotted && !isPlainName(ext, maxExt, "") {
		return "", invalidKey(s)
	}
	return Key(s), nil
}

// Split returns the directory of a key, without a trailing slash, and the name in that directory.
func (k Key) Split() (dir, name string) {
	i := strings.LastIndexByte(string(k), '/')
	return string(k[:max(i, 0)]), string(k[i+1:])
}

// invalidKey returns ErrKey with the first 80 characters of the refused key.
func invalidKey(s string) error { return fmt.Errorf("%w %.80q", ErrKey, s) }

// Shard gives consecutive keys of one process the same directory (for 256 keys or one second), so
// that parallel uploads can share the sync of that directory. It is safe for concurrent use.
type Shard struct {
	prefix string // "" or ends in a slash
	now    func() time.Time

	mu        sync.Mutex
	dir       string
	remaining int       // keys until the next directory
	drawnAt   time.Time // when dir was drawn
}

// NewShard returns a Shard whose keys begin with prefix, "" for none. A prefix consists of segments
// of 1 to 64 characters of [A-Za-z0-9._-], each beginning with a letter or digit, joined by
// slashes. Its first segment may not be `tmp`, which a store on a disk uses itself.
func NewShard(prefix string, now func() time.Time) (*Shard, error) {
	if prefix == "" {
		return &Shard{now: now}, nil
	}
	for i, segment := range strings.Split(prefix, "/") {
		if !isPrefixSegment(i, segment) {
			return nil, fmt.Errorf("invalid prefix %.80q of object keys", prefix)
		}
	}
	if len(prefix) > maxKey-len("/ab/")-32-len(".")-maxExt {
		return nil, fmt.Errorf("prefix %.80q of object keys is too long", prefix)
	}
	return &Shard{prefix: prefix + "/", now: now}, nil
}

// directory returns the directory of the next key, prefix included: the same one for shardKeys keys
// or shardMaxAge. A nil Shard draws a new one each time, without a prefix.
func (s *Shard) directory(ids *ident.Source) string {
	if s == nil {
		return ids.Hex(1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if age := now.Sub(s.drawnAt); s.remaining == 0 || age >= shardMaxAge || age < 0 {
		s.dir, s.remaining, s.drawnAt = s.prefix+ids.Hex(1), shardKeys, now
	}
	s.remaining--
	return s.dir
}

// isPrefixSegment reports whether segment may stand at position i, from 0, of a prefix: 1 to 64
// characters of [A-Za-z0-9._-], the first one a letter or digit. The first segment is not `tmp`.
func isPrefixSegment(i int, segment string) bool {
	if i == 0 && segment == "tmp" || strings.ContainsAny(segment[:min(1, len(segment))], "._-") {
		return false
	}
	return isPlainName(segment, maxPrefix, "ABCDEFGHIJKLMNOPQRSTUVWXYZ._-")
}

// isPlainName reports whether s has 1 to limit characters, all of them from [a-z0-9] or extra.
func isPlainName(s string, limit int, extra string) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return true
}

// isLowerHex reports whether s is length hexadecimal digits in lower case.
func isLowerHex(s string, length int) bool {
	return len(s) == length && strings.Trim(s, "0123456789abcdef") == ""
}

package freemode

import (
	"strings"
	"unicode/utf8"

	"larder/internal/fault"
	"larder/internal/vpath"
)

// maxKey is the longest key that S3 accepts, in bytes.
const maxKey = 1024

// Key is the key of an object in a visitor's bucket, exactly as the bucket has it: neither
// normalised nor decoded.
type Key string

// ParseKey checks the key of an object in a visitor's bucket. The key of an object that marks a
// folder ends in a slash. Faults: Invalid for a key that is empty, too long or has characters or
// segments that are unsafe as a path; Forbidden for one that begins with a slash.
func ParseKey(text string) (Key, error) {
	if err := checkKey(text); err != nil {
		return "", err
	}
	return Key(text), nil
}

// checkKey returns nil for a text that can be the key of an object in a visitor's bucket. Faults:
// those of ParseKey.
func checkKey(text string) error {
	switch {
	case text == "":
		return fault.New(fault.Invalid, "key is required.")
	case len(text) > maxKey:
		return fault.New(fault.Invalid, "A key has at most 1024 bytes.")
	case !utf8.ValidString(text):
		return fault.New(fault.Invalid, "A key must be valid UTF-8.")
	case strings.Contains(text, "..") || strings.ContainsAny(text, `~\`) ||
		strings.ContainsFunc(text, vpath.IsUnprintable):
		return fault.New(fault.Invalid,
			"A key must not contain \"..\", \"~\", backslashes, control characters or text-direction overrides.")
	case text[0] == '/':
		return fault.New(fault.Forbidden, "A key must be inside the session's root and must not begin with a slash.")
	}
	for _, segment := range strings.Split(strings.TrimSuffix(text, "/"), "/") {
		if segment == "" || segment == "." {
			return fault.New(fault.Invalid, "A key must not contain empty or \".\" segments.")
		}
	}
	return nil
}

// Name returns the last segment of the key, without the slash of a folder.
func (k Key) Name() string {
	plain := strings.TrimSuffix(string(k), "/")
	return plain[strings.LastIndexByte(plain, '/')+1:]
}

// Parent returns the path of the folder that contains the object, `/` for the root.
func (k Key) Parent() string {
	plain := strings.TrimSuffix(string(k), "/")
	return "/" + plain[:max(0, strings.LastIndexByte(plain, '/'))]
}

// Path returns the path of the object below the session's root.
func (k Key) Path() string { return "/" + string(k) }

// Dir is a folder in a visitor's bucket: the prefix of its keys with the slash at the end, "" for
// the root.
type Dir string

// ParseDir reads the path of a folder, absolute or relative to the root; repeated slashes and `.`
// segments are removed. Faults: Forbidden for a path that leaves the root, Invalid.
func ParseDir(text string) (Dir, error) {
	var segments []string
	for _, segment := range strings.Split(text, "/") {
		switch segment {
		case "", ".":
		case "..":
			return "", fault.New(fault.Forbidden, "The path is outside the session's root.")
		default:
			segments = append(segments, segment)
		}
	}
	if len(segments) == 0 {
		return "", nil
	}
	dir := strings.Join(segments, "/") + "/"
	if err := checkKey(dir); err != nil {
		return "", err
	}
	return Dir(dir), nil
}

// Child returns the key of a file in the folder. Fault: Invalid when the key would be too long or
// is unsafe.
func (d Dir) Child(name vpath.Name) (Key, error) { return ParseKey(string(d) + string(name)) }

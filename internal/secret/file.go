package secret

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"larder/internal/osfile"
)

// maxKeyFile bounds the bytes that are read of a key file; a valid one has 45.
const maxKeyFile = 1024

// LoadOrCreate returns the master key in the file at path, KeyBytes bytes. If there is no file, it
// creates one with a key from random: base64, mode 0600, in a directory that is created with mode
// 0700 if it is missing.
//
// A new key is durable before it is returned: temporary file, fsync, a link to the final name,
// fsync of the directory. Two processes that start at once get the same key, since a link never
// replaces a file. It is an error if others may read the file, if it is damaged or if the key is
// weak. The file is not changed then, since a new key would make all sealed values unreadable.
func LoadOrCreate(path string, random io.Reader) ([]byte, error) {
	key, err := Load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key = make([]byte, KeyBytes)
	if _, err := io.ReadFull(random, key); err != nil {
		return nil, fmt.Errorf("make a secret key: %w", err)
	}
	if err := CheckKey(key); err != nil {
		return nil, fmt.Errorf("make a secret key: the source of randomness is broken: %w", err)
	}
	if err := writeKeyFile(path, key); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return Load(path)
		}
		return nil, fmt.Errorf("write the secret key %s: %w", path, err)
	}
	return key, nil
}

// Load returns the master key in the file at path, KeyBytes bytes. Errors: fs.ErrNotExist, and
// those of LoadOrCreate for a file that others may read, that is damaged or whose key is weak.
func Load(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the secret key: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the secret key: %w", err)
	}
	if mode := info.Mode().Perm(); mode&osfile.OthersMode != 0 {
		return nil, fmt.Errorf("the secret key %s can be read or changed by others (mode %04o): chmod 600 %s", path,
			mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, fmt.Errorf("read the secret key: %w", err)
	}
	key, err := ParseKey(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("the secret key %s is damaged (%w): put back the file from a backup", path, err)
	}
	return key, nil
}

// writeKeyFile writes a key file of mode 0600 durably. It never replaces a file. Error: fs.ErrExist
// when another process was faster.
func writeKeyFile(path string, key []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".secret-key-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // fails when it has its name
	defer tmp.Close()
	if _, err := tmp.WriteString(base64.StdEncoding.EncodeToString(key) + "\n"); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); err != nil {
		return err
	}
	return osfile.Sync(dir)
}

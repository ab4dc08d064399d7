package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"larder/internal/db"
	"larder/internal/osfile"
	"larder/internal/secret"
)

// format is the version of the backup's format. Other versions are refused.
const format = 1

const newSuffix = ".new"

// identity identifies the service of a backup.
type identity struct {
	Format      int
	Fingerprint string // of the master key, 16 hexadecimal digits
}

// Manifest describes a snapshot and its files.
type Manifest struct {
	Format      int
	Schema      int    // version of the database schema
	Larder      string // version of the program
	Taken       string // time of the snapshot, RFC 3339
	Engine      string // database engine of the service
	BaseURL     string
	Fingerprint string // of the master key, 16 hexadecimal digits
	KeyIncluded bool   // otherwise the key was given to the service and must be given to the restored one

	Files     map[string]File
	Providers []ProviderTotals

	Objects, Bytes int64 // in the pool
	Elsewhere      int64 // objects listed in elsewhere.jsonl
	Unhashed       int64 // objects without a SHA-256
	Wrong          int64 // objects missing from the backup
}

// File is a file of the snapshot.
type File struct {
	Size   int64
	SHA256 string // hexadecimal
}

// ProviderTotals counts the objects of one provider.
type ProviderTotals struct {
	ID, Name, Type, Bucket string
	Objects, Bytes         int64
}

// elsewhereLine is one line of elsewhere.jsonl: an object that is not on the local disk.
type elsewhereLine struct {
	Provider, Key string
	Size          int64
	SHA256, ETag  string
}

// takenAt returns the time of the snapshot in ms.
func (m Manifest) takenAt() (int64, error) {
	t, err := time.Parse(time.RFC3339Nano, m.Taken)
	if err != nil {
		return 0, fmt.Errorf("read the time of a snapshot: %w", err)
	}
	return t.UnixMilli(), nil
}

// describe completes the snapshot: it writes the access log, the key file if the service made it,
// and the manifest last. A damaged access log is reported and left out.
func (r *backupRun) describe(ctx context.Context) error {
	into := r.at.newSnapshotPath()
	m := &r.manifest
	m.Format, m.Larder, m.Engine, m.BaseURL = format, r.Larder, string(r.DB.Dialect()), r.BaseURL
	m.Fingerprint, m.KeyIncluded = r.Fingerprint, r.KeyFile != "" && r.at.keepsKey()
	if !m.KeyIncluded {
		r.summary.KeyFile = r.KeyFile
	}
	var err error
	if m.Schema, err = db.SchemaVersion(); err != nil {
		return err
	}
	earlier, err := r.at.snapshots(ctx)
	if err != nil {
		return err
	}
	if r.summary.Snapshot, err = nextName(earlier, r.taken); err != nil {
		return err
	}
	m.Taken = r.taken.UTC().Format(time.RFC3339Nano)
	m.Objects, m.Bytes, m.Elsewhere = r.summary.Objects, r.summary.Bytes, r.summary.Elsewhere
	m.Unhashed, m.Wrong = r.summary.Unhashed, r.summary.Wrong
	names := []string{databaseName, elsewhereName}
	audit := filepath.Join(r.DataDir, auditName)
	if _, err := os.Stat(audit); err == nil {
		switch err := db.CopyFile(ctx, audit, filepath.Join(into, auditName)); {
		case err == nil:
			names = append(names, auditName)
		case ctx.Err() != nil:
			return err
		default: // a damaged access log does not prevent the backup
			r.mu.Lock()
			r.summary.Wrong++
			if r.Report != nil {
				r.Report(fmt.Sprintf("the access log is left out: %v", err))
			}
			r.mu.Unlock()
			if err := os.Remove(filepath.Join(into, auditName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for the access log: %w", err)
	}
	if m.KeyIncluded {
		key, err := os.ReadFile(r.KeyFile)
		if err == nil {
			err = writeFile(into, keyName, key)
		}
		if err != nil {
			return fmt.Errorf("copy the secret key: %w", err)
		}
		if copied, err := fingerprintOf(filepath.Join(into, keyName)); err != nil || copied != r.Fingerprint {
			return errors.Join(errKeyReplaced, err)
		}
	}
	m.Files = map[string]File{}
	for _, name := range names {
		if m.Files[name], err = measureFile(filepath.Join(into, name)); err != nil {
			return err
		}
	}
	return writeJSON(into, manifestName, m)
}

// readIdentity returns the identity of a backup. Error: fs.ErrNotExist for a directory without one.
func readIdentity(dir string) (identity, error) {
	var id identity
	if err := readJSON(filepath.Join(dir, identityName), &id); err != nil {
		return id, err
	}
	return id, checkFormat(id.Format)
}

// errNewerSchema refuses a snapshot whose database this Larder does not know.
var errNewerSchema = errors.New("the backup was made by a newer Larder")

// readManifest returns the manifest of a snapshot. It refuses another format and a newer schema
// than this binary's, with advice for the operator.
func readManifest(ctx context.Context, from source, snapshot string) (Manifest, error) {
	var m Manifest
	file, err := from.open(ctx, snapshot, manifestName)
	if err != nil {
		return m, fmt.Errorf("read the backup: %w", err)
	}
	defer file.Close() // opened for reading
	if err := decodeJSON(file, manifestName+" of snapshot "+snapshot, &m); err != nil {
		return m, err
	}
	if err := checkFormat(m.Format); err != nil {
		return m, err
	}
	newest, err := db.SchemaVersion()
	if err == nil && m.Schema > newest {
		err = fmt.Errorf("%w (%s, schema version %d, this one knows up to %d): restore it with that version",
			errNewerSchema, m.Larder, m.Schema, newest)
	}
	return m, err
}

// checkFormat refuses any version of the backup's format but the one of this binary.
func checkFormat(of int) error {
	if of != format {
		return fmt.Errorf(
			"the backup has format %d, this Larder knows %d: use the version of Larder that made it, or a newer one",
			of, format)
	}
	return nil
}

// errKeyReplaced ends a backup that `larder rotate-key` has overtaken.
var errKeyReplaced = errors.New(
	"the secret key was replaced during the backup: run it again, into a new directory")

// checkKeyOf returns errKeyReplaced unless the copied database rows is sealed with the master key
// whose fingerprint the manifest will name.
func (r *backupRun) checkKeyOf(ctx context.Context, rows *db.DB) error {
	want, err := fingerprintNumber(r.Fingerprint)
	if err != nil {
		return err
	}
	noted, err := keyFingerprint(rows.Read(ctx))
	if err == nil && noted != want {
		err = errKeyReplaced
	}
	return err
}

// fingerprintNumber converts a fingerprint, 16 hexadecimal digits, to the number that databases
// store.
func fingerprintNumber(fingerprint string) (int64, error) {
	n, err := strconv.ParseUint(fingerprint, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("read the key's fingerprint: %w", err)
	}
	return int64(n), nil
}

// fingerprintOf returns the fingerprint of the master key in the key file at path.
func fingerprintOf(path string) (string, error) {
	key, err := secret.Load(path)
	if err != nil {
		return "", err
	}
	ring, err := secret.New(key)
	if err != nil {
		return "", err
	}
	return ring.Fingerprint(), nil
}

// measureFile returns the size and the SHA-256 of a file.
func measureFile(path string) (File, error) {
	file, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer file.Close() // opened for reading
	h := sha256.New()
	n, err := io.Copy(h, file)
	return File{Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

// readJSON decodes a JSON file of the backup into the value that into points to. Error:
// fs.ErrNotExist for a missing file.
func readJSON(path string, into any) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	defer file.Close() // opened for reading
	return decodeJSON(file, path, into)
}

// maxJSON is the maximum size of a JSON file of a backup in bytes; a larger one is cut, and fails.
const maxJSON = 16 << 20

// decodeJSON decodes a whole file of a backup, which name describes in errors.
func decodeJSON(file io.Reader, name string, into any) error {
	text, err := io.ReadAll(io.LimitReader(file, maxJSON))
	if err != nil {
		return fmt.Errorf("read the backup: %s: %w", name, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read the backup: %s: %w", name, err)
	}
	return nil
}

// writeJSON writes v as the file name in dir, atomically and durably.
func writeJSON(dir, name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(dir, name, append(text, '\n'))
}

// writeFile writes content as the file name in dir, atomically and durably, mode 0600.
func writeFile(dir, name string, content []byte) error {
	path := filepath.Join(dir, name)
	file, err := os.OpenFile(path+newSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return RenameDurably(path+newSuffix, path)
}

// RenameDurably renames a file whose content is durable, replacing a file at to, and returns when
// the name is durable.
func RenameDurably(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return osfile.Sync(filepath.Dir(to))
}

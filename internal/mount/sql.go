package mount

import (
	"context"
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// Store stores the mounts. All methods are safe for concurrent use.
type Store struct {
	db    *db.DB
	table db.VersionedValue[*Table]
}

// New returns the Store in d.
func New(d *db.DB) *Store { return &Store{db: d} }

// Insert adds a mount with the present time now (ms) as both its times, and raises the config
// version, so that all replicas load the mounts again.
func (s *Store) Insert(tx *db.Tx, m Mount, now int64) error {
	_, err := tx.Exec(`
		INSERT INTO mounts (id, provider_id, root_id, mount_path, name, sort_by, sort_order, priority, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		m.ID, m.ProviderID, m.RootID, m.Path.String(), m.Name, m.SortBy, m.SortOrder, m.Priority, now, now)
	if err != nil {
		return fmt.Errorf("insert mount: %w", err)
	}
	return tx.BumpConfig()
}

// Table returns the mounts of a config version, from the cache if they are cached. The caller has
// read the version outside any transaction.
func (s *Store) Table(ctx context.Context, version int64) (*Table, error) {
	return s.table.Get(version, func() (*Table, error) { return s.TableIn(s.db.Read(ctx)) })
}

// TableIn reads the mounts with q, not from the cache. It is for transactions, whose own changes
// must not get into the cache.
func (s *Store) TableIn(q db.Querier) (*Table, error) {
	rows, err := q.Query(`SELECT ` + columns + ` FROM mounts`)
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	defer rows.Close()
	var mounts []Mount
	for rows.Next() {
		m, err := scan(rows)
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, m)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	return NewTable(mounts), nil
}

const columns = `id, COALESCE(evacuate_to, provider_id), CASE WHEN evacuate_to IS NULL THEN '' ELSE provider_id END, COALESCE(evacuation_id, ''), root_id, mount_path, name, sort_by, sort_order, priority, created_at, updated_at`

// scan reads a row of columns. Fault: NotFound when there is no row.
func scan(from interface{ Scan(dest ...any) error }) (m Mount, err error) {
	var path string
	err = from.Scan(&m.ID, &m.ProviderID, &m.EvacuatedID, &m.EvacuationID, &m.RootID, &path, &m.Name, &m.SortBy,
		&m.SortOrder, &m.Priority, &m.CreatedAt, &m.UpdatedAt)
	if errors.Is(err, db.ErrNoRows) {
		return Mount{}, noMount()
	}
	if err != nil {
		return Mount{}, fmt.Errorf("read mounts: %w", err)
	}
	if m.Path, err = vpath.Parse(path); err != nil {
		return Mount{}, fmt.Errorf("read the path of mount %s: %w", m.ID, err)
	}
	return m, nil
}

// Lock returns a mount as it is in tx and locks its row until tx ends, so that concurrent changes
// of it take turns. Fault: NotFound.
func (s *Store) Lock(tx *db.Tx, id string) (Mount, error) {
	return scan(tx.QueryRow(`UPDATE mounts SET updated_at = updated_at WHERE id = $1 RETURNING `+columns, id))
}

// Replace writes all values of m except the root, its evacuation and the creation time to the mount
// with m's id, and raises the config version. Fault: NotFound.
func (s *Store) Replace(tx *db.Tx, m Mount) error {
	n, err := tx.Exec(`
		UPDATE mounts
		SET provider_id = $1, mount_path = $2, name = $3, sort_by = $4, sort_order = $5, priority = $6, updated_at = $7
		WHERE id = $8`, m.RecordedProviderID(), m.Path.String(), m.Name, m.SortBy, m.SortOrder, m.Priority, m.UpdatedAt, m.ID)
	return finishChange(tx, "replace mount", n, err)
}

// Delete deletes a mount and raises the config version. The caller deletes its root entry. Fault:
// NotFound.
func (s *Store) Delete(tx *db.Tx, id string) error {
	n, err := tx.Exec(`DELETE FROM mounts WHERE id = $1`, id)
	return finishChange(tx, "delete mount", n, err)
}

// finishChange ends a statement that changed n rows: it wraps err with doing, the operation, and
// raises the config version after a change. Fault: NotFound when no row was changed.
func finishChange(tx *db.Tx, doing string, n int64, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if n == 0 {
		return noMount()
	}
	return tx.BumpConfig()
}

// noMount is the fault NotFound for an id that no mount has.
func noMount() error { return fault.New(fault.NotFound, "There is no such mount.") }

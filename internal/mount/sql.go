package mount

import (
	"context"
	"fmt"

	"larder/internal/db"
	"larder/internal/vpath"
)

// Store keeps the mounts. All methods are safe for concurrent use.
type Store struct {
	db    *db.DB
	table db.Versioned[*Table]
}

// New returns the Store in d.
func New(d *db.DB) *Store { return &Store{db: d} }

// Insert adds a mount and raises the config version. now is in milliseconds.
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

// Table returns the mounts for that config version, which the caller has read outside of any transaction; from memory when they are known.
func (s *Store) Table(ctx context.Context, version int64) (*Table, error) {
	return s.table.Get(version, func() (*Table, error) { return s.TableIn(s.db.Read(ctx)) })
}

// TableIn reads the mounts as q sees them. It is for transactions, whose own changes must not get into memory.
func (s *Store) TableIn(q db.Querier) (*Table, error) {
	rows, err := q.Query(`
		SELECT id, provider_id, root_id, mount_path, name, sort_by, sort_order, priority
		FROM mounts`)
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	defer rows.Close()
	var mounts []Mount
	for rows.Next() {
		var m Mount
		var path string
		if err := rows.Scan(&m.ID, &m.ProviderID, &m.RootID, &path, &m.Name, &m.SortBy, &m.SortOrder, &m.Priority); err != nil {
			return nil, fmt.Errorf("read mounts: %w", err)
		}
		if m.Path, err = vpath.Parse(path); err != nil {
			return nil, fmt.Errorf("read the path of mount %s: %w", m.ID, err)
		}
		mounts = append(mounts, m)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	return NewTable(mounts), nil
}

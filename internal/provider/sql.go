package provider

import (
	"context"
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
)

// Insert adds a provider without credentials and raises the config version. A built-in store must have been prepared with p.Marker.
func (r *Registry) Insert(tx *db.Tx, p Provider) error {
	now := r.cfg.Now().UnixMilli()
	_, err := tx.Exec(`
		INSERT INTO providers (id, name, type, endpoint, region, bucket, access_key_id, secret_access_key, public_domain, upload_domain,
			path_prefix, upload_mode, redirect, marker, created_at, updated_at)
		VALUES ($1, $2, $3, '', '', $4, '', '', $5, '', $6, 'auto', $7, $8, $9, $10)`,
		p.ID, p.Name, p.Type, p.Bucket, p.PublicDomain, p.PathPrefix, p.Redirect, p.Marker, now, now)
	if err != nil {
		return fmt.Errorf("insert provider: %w", err)
	}
	return tx.BumpConfig()
}

// ByID reads a provider. Fault: NotFound.
func (r *Registry) ByID(ctx context.Context, id string) (Provider, error) {
	var p Provider
	err := r.cfg.DB.Read(ctx).QueryRow(`
		SELECT id, name, type, bucket, public_domain, path_prefix, redirect, marker
		FROM providers
		WHERE id = $1`, id).
		Scan(&p.ID, &p.Name, &p.Type, &p.Bucket, &p.PublicDomain, &p.PathPrefix, &p.Redirect, &p.Marker)
	if errors.Is(err, db.ErrNoRows) {
		return Provider{}, fault.New(fault.NotFound, "There is no such provider.")
	}
	if err != nil {
		return Provider{}, fmt.Errorf("read provider: %w", err)
	}
	return p, nil
}

// used lists the providers that mounts are on.
func (r *Registry) used(ctx context.Context) ([]string, error) {
	rows, err := r.cfg.DB.Read(ctx).Query("SELECT DISTINCT provider_id FROM mounts ORDER BY provider_id")
	if err != nil {
		return nil, fmt.Errorf("list the providers in use: %w", err)
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("list the providers in use: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

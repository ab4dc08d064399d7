package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
)

const columns = `id, name, type, region, bucket, public_domain, upload_domain, path_prefix, upload_mode, redirect, marker, created_at, updated_at`

func scan(from interface{ Scan(dest ...any) error }) (Provider, error) {
	var p Provider
	err := from.Scan(&p.ID, &p.Name, &p.Type, &p.Region, &p.Bucket, &p.PublicDomain, &p.UploadDomain, &p.PathPrefix, &p.UploadMode, &p.Redirect,
		&p.Marker, &p.CreatedAt, &p.UpdatedAt)
	if errors.Is(err, db.ErrNoRows) {
		return Provider{}, fault.New(fault.NotFound, "There is no such provider.")
	}
	if err != nil {
		return Provider{}, fmt.Errorf("read provider: %w", err)
	}
	return p, nil
}

// Insert adds a provider without credentials and raises the config version. A built-in store must have been prepared with p.Marker.
func (r *Registry) Insert(tx *db.Tx, p Provider) error {
	_, err := tx.Exec(`
		INSERT INTO providers (name, type, endpoint, region, bucket, access_key_id, secret_access_key, public_domain, upload_domain,
			path_prefix, upload_mode, redirect, marker, updated_at, id, created_at)
		VALUES ($1, $2, '', $3, $4, '', '', $5, $6, $7, $8, $9, $10, $11, $12, $13)`, append(p.values(), p.ID, p.CreatedAt)...)
	if err != nil {
		return fmt.Errorf("insert provider: %w", err)
	}
	return tx.BumpConfig()
}

// values are the columns that Replace sets.
func (p *Provider) values() []any {
	return []any{p.Name, p.Type, p.Region, p.Bucket, p.PublicDomain, p.UploadDomain, p.PathPrefix, cmp.Or(p.UploadMode, "auto"), p.Redirect,
		p.Marker, p.UpdatedAt}
}

// ByID reads a provider. Fault: NotFound.
func (r *Registry) ByID(ctx context.Context, id string) (Provider, error) {
	return r.ByIDIn(r.cfg.DB.Read(ctx), id)
}

// ByIDIn is ByID as q sees it. Who holds the tree alone in a transaction has the provider to themselves until it ends.
func (r *Registry) ByIDIn(q db.Querier, id string) (Provider, error) {
	return scan(q.QueryRow(`SELECT `+columns+` FROM providers WHERE id = $1`, id))
}

// All reads all providers, the oldest first.
func (r *Registry) All(ctx context.Context) ([]Provider, error) {
	rows, err := r.cfg.DB.Read(ctx).Query(`SELECT ` + columns + ` FROM providers ORDER BY created_at, id`)
	if err != nil {
		return nil, fmt.Errorf("read providers: %w", err)
	}
	defer rows.Close()
	var all []Provider
	for rows.Next() {
		p, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, rows.Err()
}

// Replace gives the provider with p's id all of p's values, its age excepted, and raises the config version. Fault: NotFound.
func (r *Registry) Replace(tx *db.Tx, p Provider) error {
	n, err := tx.Exec(`
		UPDATE providers
		SET name = $1, type = $2, region = $3, bucket = $4, public_domain = $5, upload_domain = $6, path_prefix = $7, upload_mode = $8,
			redirect = $9, marker = $10, updated_at = $11
		WHERE id = $12`, append(p.values(), p.ID)...)
	return changed(tx, "replace provider", n, err)
}

// Delete removes a provider's row and raises the config version; nothing in its store is touched. Fault: NotFound.
func (r *Registry) Delete(tx *db.Tx, id string) error {
	n, err := tx.Exec(`DELETE FROM providers WHERE id = $1`, id)
	return changed(tx, "delete provider", n, err)
}

func changed(tx *db.Tx, doing string, n int64, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if n == 0 {
		return fault.New(fault.NotFound, "There is no such provider.")
	}
	return tx.BumpConfig()
}

// listed is a provider with what tells its place from others.
type listed struct {
	Provider
	endpoint string
}

// all lists every provider.
func (r *Registry) all(ctx context.Context) ([]listed, error) {
	rows, err := r.cfg.DB.Read(ctx).Query(`
		SELECT id, name, type, bucket, endpoint, public_domain, path_prefix, redirect, marker
		FROM providers
		ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("list the providers: %w", err)
	}
	defer rows.Close()
	var list []listed
	for rows.Next() {
		var p listed
		if err := rows.Scan(&p.ID, &p.Name, &p.Type, &p.Bucket, &p.endpoint, &p.PublicDomain, &p.PathPrefix, &p.Redirect, &p.Marker); err != nil {
			return nil, fmt.Errorf("list the providers: %w", err)
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/secret"
)

const columns = `id, name, type, endpoint, region, bucket, access_key_id, secret_access_key, public_domain, upload_domain, path_prefix, upload_mode, redirect, marker, COALESCE(evacuation_id, ''), COALESCE(evacuate_to, ''), created_at, updated_at`

// scan reads a row of the columns and opens its sealed credentials. When they cannot be opened,
// they are empty and CredentialsUnreadable is set. Fault: NotFound for no row.
func (r *Registry) scan(from interface{ Scan(dest ...any) error }) (Provider, error) {
	var p Provider
	var accessKeyID, secretKey string // sealed
	err := from.Scan(&p.ID, &p.Name, &p.Type, &p.Endpoint, &p.Region, &p.Bucket, &accessKeyID, &secretKey,
		&p.PublicDomain, &p.UploadDomain, &p.PathPrefix, &p.UploadMode, &p.Redirect,
		&p.Marker, &p.EvacuationID, &p.EvacuateTo, &p.CreatedAt, &p.UpdatedAt)
	if errors.Is(err, db.ErrNoRows) {
		return Provider{}, fault.New(fault.NotFound, "There is no such provider.")
	}
	if err != nil {
		return Provider{}, fmt.Errorf("read provider: %w", err)
	}
	if p.AccessKeyID, err = r.unseal(p.ID, accessKeyID); err == nil {
		p.SecretKey, err = r.unseal(p.ID, secretKey)
	}
	if err != nil { // abuse case C116; the other providers must keep working, and this one can be given new credentials
		p.AccessKeyID, p.SecretKey, p.CredentialsUnreadable = "", "", true
	}
	return p, nil
}

// sealPurpose is the purpose for which credentials are sealed. They can be opened only in the row
// of their provider.
const sealPurpose = "provider"

// seal encrypts a credential for the row of the provider id; "" stays "".
func (r *Registry) seal(id string, credential secret.Text) (string, error) {
	if credential == "" {
		return "", nil
	}
	return r.cfg.Secrets.Seal(sealPurpose, id, []byte(credential.Reveal()))
}

// unseal decrypts a sealed credential of the provider id; it returns "" for "" and without
// Config.Secrets.
func (r *Registry) unseal(id, column string) (secret.Text, error) {
	if column == "" || r.cfg.Secrets == nil {
		return "", nil
	}
	plain, err := r.cfg.Secrets.Open(sealPurpose, id, column)
	return secret.Text(plain), err
}

// Reseal seals the credentials of all providers with the new key of a rotation.
func Reseal(tx *db.Tx, rotation *secret.Rotation) error {
	type sealed struct{ id, accessKeyID, secretKey string }
	rows, err := tx.Query("SELECT id, access_key_id, secret_access_key FROM providers ORDER BY id")
	if err != nil {
		return fmt.Errorf("read sealed credentials: %w", err)
	}
	defer rows.Close()
	var all []sealed
	for rows.Next() {
		var p sealed
		if err := rows.Scan(&p.id, &p.accessKeyID, &p.secretKey); err != nil {
			return fmt.Errorf("read sealed credentials: %w", err)
		}
		all = append(all, p)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read sealed credentials: %w", err)
	}
	for _, p := range all {
		accessKeyID, err := rotation.Reseal(sealPurpose, p.id, p.accessKeyID)
		if err != nil {
			return err
		}
		secretKey, err := rotation.Reseal(sealPurpose, p.id, p.secretKey)
		if err == nil {
			_, err = tx.Exec("UPDATE providers SET access_key_id = $1, secret_access_key = $2 WHERE id = $3",
				accessKeyID, secretKey, p.id)
		}
		if err != nil {
			return fmt.Errorf("seal credentials anew: %w", err)
		}
	}
	return nil
}

// Insert adds a provider and raises the config version. A built-in store must have been prepared
// with p.Marker.
func (r *Registry) Insert(tx *db.Tx, p Provider) error {
	values, err := r.values(p)
	if err == nil {
		_, err = tx.Exec(`
			INSERT INTO providers (name, type, endpoint, region, bucket, access_key_id, secret_access_key, public_domain, upload_domain,
				path_prefix, upload_mode, redirect, marker, updated_at, id, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
			append(values, p.CreatedAt)...)
	}
	if err != nil {
		return fmt.Errorf("insert provider: %w", err)
	}
	return tx.BumpConfig()
}

// values returns the values of the columns that Insert and Replace set, credentials sealed,
// followed by the id.
func (r *Registry) values(p Provider) ([]any, error) {
	accessKeyID, err := r.seal(p.ID, p.AccessKeyID)
	if err != nil {
		return nil, err
	}
	secretKey, err := r.seal(p.ID, p.SecretKey)
	if err != nil {
		return nil, err
	}
	return []any{p.Name, p.Type, p.Endpoint, p.Region, p.Bucket, accessKeyID, secretKey, p.PublicDomain, p.UploadDomain,
		p.PathPrefix,
		cmp.Or(p.UploadMode, "auto"), p.Redirect, p.Marker, p.UpdatedAt, p.ID}, nil
}

// ByID reads the record of a provider with its credentials opened. Fault: NotFound.
func (r *Registry) ByID(ctx context.Context, id string) (Provider, error) {
	return r.ByIDIn(r.cfg.DB.Read(ctx), id)
}

// ByIDIn is ByID by another querier, such as a transaction. A transaction that holds the exclusive
// lock on the tree can rely on the record until it ends. Fault: NotFound.
func (r *Registry) ByIDIn(q db.Querier, id string) (Provider, error) {
	return r.scan(q.QueryRow(`SELECT `+columns+` FROM providers WHERE id = $1`, id))
}

// All reads the records of all providers with their credentials opened, oldest first.
func (r *Registry) All(ctx context.Context) ([]Provider, error) {
	rows, err := r.cfg.DB.Read(ctx).Query(`SELECT ` + columns + ` FROM providers ORDER BY created_at, id`)
	if err != nil {
		return nil, fmt.Errorf("read providers: %w", err)
	}
	defer rows.Close()
	var all []Provider
	for rows.Next() {
		p, err := r.scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, rows.Err()
}

// Replace writes all values of p except its evacuation and the creation time to the provider with
// p's id, and raises the config version. Fault: NotFound.
func (r *Registry) Replace(tx *db.Tx, p Provider) error {
	values, err := r.values(p)
	if err != nil {
		return fmt.Errorf("replace provider: %w", err)
	}
	n, err := tx.Exec(`
		UPDATE providers
		SET name = $1, type = $2, endpoint = $3, region = $4, bucket = $5, access_key_id = $6, secret_access_key = $7, public_domain = $8,
			upload_domain = $9, path_prefix = $10, upload_mode = $11, redirect = $12, marker = $13, updated_at = $14
		WHERE id = $15`, values...)
	return finishChange(tx, "replace provider", n, err)
}

// Delete deletes a provider's row and raises the config version. It does not change the store.
// Fault: NotFound.
func (r *Registry) Delete(tx *db.Tx, id string) error {
	n, err := tx.Exec(`DELETE FROM providers WHERE id = $1`, id)
	return finishChange(tx, "delete provider", n, err)
}

// finishChange ends a change of one provider's row that affected n rows and returned err: it raises
// the config version. doing names the change. Fault: NotFound when n is 0.
func finishChange(tx *db.Tx, doing string, n int64, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if n == 0 {
		return fault.New(fault.NotFound, "There is no such provider.")
	}
	return tx.BumpConfig()
}

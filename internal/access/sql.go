package access

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// StoredRule is the row of a rule, with the hash of its password. The hash is never shown.
type StoredRule struct {
	Rule
	PasswordHash string // "" for none
	UpdatedAt    int64  // milliseconds, as CreatedAt
}

// Check returns nil for a rule that can be stored, else the fault with the reason: those of
// Rule.Validate, and a rule that asks for a password but has none. Fault: Invalid.
func (r StoredRule) Check() error {
	if err := r.Validate(); err != nil {
		return err
	}
	if r.RequirePassword && r.PasswordHash == "" {
		return fault.InvalidField("password", "A rule that requires a password needs one.")
	}
	return nil
}

// Store stores the rules and caches their policy. It is the only part of this package that reads
// anything. All methods are safe for concurrent use.
type Store struct {
	db          *db.DB
	now         func() time.Time
	guestAccess func(ctx context.Context, version int64) (bool, error)
	policy      db.VersionedValue[*Policy]
}

// NewStore returns the Store in d. guestAccess returns the site setting allowGuestAccess under a
// config version.
func NewStore(d *db.DB, now func() time.Time,
	guestAccess func(ctx context.Context, version int64) (bool, error)) *Store {
	return &Store{db: d, now: now, guestAccess: guestAccess}
}

// Policy returns the compiled rules for a config version, from the cache if they are cached. The
// caller has read the version outside any transaction.
func (s *Store) Policy(ctx context.Context, version int64) (*Policy, error) {
	return s.policy.Get(version, func() (*Policy, error) {
		stored, err := readRules(s.db.Read(ctx), "")
		if err != nil {
			return nil, err
		}
		guests, err := s.guestAccess(ctx, version)
		if err != nil {
			return nil, fmt.Errorf("read the setting of guest access: %w", err)
		}
		rules := make([]Rule, len(stored))
		for i := range stored {
			rules[i] = stored[i].Rule
		}
		return NewPolicy(rules, guests), nil
	})
}

// All returns every rule, ordered by priority and then by age.
func (s *Store) All(ctx context.Context) ([]StoredRule, error) {
	return readRules(s.db.Read(ctx), "ORDER BY priority DESC, created_at, id")
}

// WithPassword returns those of the rules with these ids that have a password, with its hash, in
// the order of All.
func (s *Store) WithPassword(ctx context.Context, ids []string) ([]StoredRule, error) {
	rules, err := readRules(s.db.Read(ctx), "WHERE password_hash IS NOT NULL ORDER BY priority DESC, created_at, id")
	return slices.DeleteFunc(rules, func(r StoredRule) bool { return !slices.Contains(ids, r.ID) }), err
}

// readRule reads one rule. Fault: NotFound.
func readRule(q db.Querier, id string) (StoredRule, error) {
	rules, err := readRules(q, "WHERE id = $1", id)
	if err != nil {
		return StoredRule{}, err
	}
	if len(rules) == 0 {
		return StoredRule{}, noRule()
	}
	return rules[0], nil
}

// noRule returns the fault NotFound of a rule.
func noRule() error { return fault.New(fault.NotFound, "There is no such rule.") }

// Insert adds a rule with the present time as its creation time, and raises the config version, so
// that all replicas read the rules again. Fault: Invalid.
func (s *Store) Insert(tx *db.Tx, r StoredRule) error {
	if err := r.Check(); err != nil {
		return err
	}
	now := s.now().UnixMilli()
	_, err := tx.Exec(`
		INSERT INTO rules (path_pattern, effect, mount_id, role, user_id, api_key_id, permissions, require_password, password_hash, allowed_ips,
			priority, updated_at, id, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`, append(r.values(now), r.ID, now)...)
	if err != nil {
		return fmt.Errorf("insert rule: %w", err)
	}
	return tx.BumpConfig()
}

// Lock reads a rule in tx and locks its row until tx ends, so that the caller can change it and
// write it with Replace. Fault: NotFound.
func (s *Store) Lock(tx *db.Tx, id string) (StoredRule, error) {
	if _, err := tx.Exec("UPDATE rules SET updated_at = updated_at WHERE id = $1", id); err != nil {
		return StoredRule{}, fmt.Errorf("lock rule: %w", err)
	}
	return readRule(tx, id)
}

// Replace writes all values of r except the creation time to the rule with r's id, and raises the
// config version. Faults: Invalid, NotFound.
func (s *Store) Replace(tx *db.Tx, r StoredRule) error {
	if err := r.Check(); err != nil {
		return err
	}
	n, err := tx.Exec(`
		UPDATE rules
		SET path_pattern = $1, effect = $2, mount_id = $3, role = $4, user_id = $5, api_key_id = $6, permissions = $7, require_password = $8,
			password_hash = $9, allowed_ips = $10, priority = $11, updated_at = $12
		WHERE id = $13`, append(r.values(s.now().UnixMilli()), r.ID)...)
	return finishChange(tx, "replace rule", n, err)
}

// Delete deletes a rule and raises the config version. Fault: NotFound.
func (s *Store) Delete(tx *db.Tx, id string) error {
	n, err := tx.Exec("DELETE FROM rules WHERE id = $1", id)
	return finishChange(tx, "delete rule", n, err)
}

// DeleteOfMount deletes the rules that are for one mount only. Otherwise they would decide nothing,
// but still make folders show.
func (s *Store) DeleteOfMount(tx *db.Tx, mountID string) error {
	if _, err := tx.Exec("DELETE FROM rules WHERE mount_id = $1", mountID); err != nil {
		return fmt.Errorf("delete the rules of a mount: %w", err)
	}
	return tx.BumpConfig()
}

// DeleteOfUser deletes the rules whose subject is the user or one of the user's keys, and raises
// the config version. It is for the end of an account.
func (s *Store) DeleteOfUser(tx *db.Tx, userID string, keyIDs []string) error {
	if _, err := tx.Exec("DELETE FROM rules WHERE user_id = $1", userID); err != nil {
		return fmt.Errorf("delete the rules of a user: %w", err)
	}
	for _, id := range keyIDs {
		if _, err := tx.Exec("DELETE FROM rules WHERE api_key_id = $1", id); err != nil {
			return fmt.Errorf("delete the rules of an API key: %w", err)
		}
	}
	return tx.BumpConfig()
}

// MovePatterns rewrites the patterns of the rules that apply only at or below the folder from,
// which is being moved, so that they apply at to. The caller raises the config version, since many
// transactions wait for that row. Fault: Invalid if a pattern would become too long.
func (s *Store) MovePatterns(tx *db.Tx, from, to vpath.Path) error {
	rules, err := readRules(tx, "")
	if err != nil {
		return err
	}
	for _, r := range rules {
		pattern, err := ParsePattern(r.Pattern)
		if err != nil || !pattern.base.Within(from) {
			continue // an unreadable pattern denies everything or allows nothing, on every path
		}
		moved, err := pattern.moved(from, to)
		if err != nil {
			return fault.Newf(fault.Invalid,
				"The pattern of rule %s would become too long if the folder moved: shorten it or delete the rule "+
					"first.", r.ID)
		}
		_, err = tx.Exec("UPDATE rules SET path_pattern = $1, updated_at = $2 WHERE id = $3 AND path_pattern = $4",
			moved.String(), s.now().UnixMilli(), r.ID, r.Pattern)
		if err != nil {
			return fmt.Errorf("move a rule: %w", err)
		}
	}
	return nil
}

// HasDenyRule reports whether a rule for that user or role denies one of those permissions on some
// path. Addresses and mounts of the rules are ignored.
func (s *Store) HasDenyRule(q db.Querier, userID string, role Role, permissions Set) (bool, error) {
	rules, err := readRules(q, "WHERE effect <> 'allow' AND (user_id = $1 OR role = $2)", userID, string(role))
	return slices.ContainsFunc(rules, func(r StoredRule) bool {
		return r.Permissions == 0 ||
			r.Permissions&permissions != 0
	}), err
}

// finishChange ends a change of n rules: NotFound if there was no such rule, else it raises the
// config version. doing names the operation in the error.
func finishChange(tx *db.Tx, doing string, n int64, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if n == 0 {
		return noRule()
	}
	return tx.BumpConfig()
}

// values returns the columns of a rule from path_pattern to updated_at, which is now (ms).
func (r *StoredRule) values(now int64) []any {
	return []any{r.Pattern, string(r.Effect), nullable(r.MountID), nullable(string(r.Role)), nullable(r.UserID),
		nullable(r.KeyID),
		strings.Join(r.Permissions.Names(), ","), r.RequirePassword, nullable(r.PasswordHash),
		JoinAddresses(r.AllowedIPs), r.Priority, now}
}

// nullable returns a text for a nullable column: NULL for "".
func nullable(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

// readRules reads the rules that the rest of a query, from WHERE on, selects. A rule that cannot be
// read is an error: without it, the policy could allow what the rule denies.
func readRules(q db.Querier, rest string, args ...any) ([]StoredRule, error) {
	rows, err := q.Query(`
		SELECT id, path_pattern, effect, mount_id, role, user_id, api_key_id, permissions, require_password, password_hash, allowed_ips,
			priority, created_at, updated_at
		FROM rules `+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	defer rows.Close()
	var rules []StoredRule
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	return rules, nil
}

// scan reads one row of the query of readRules.
func scan(rows *sql.Rows) (StoredRule, error) {
	var r StoredRule
	var mountID, role, userID, keyID, hash sql.NullString
	var permissions, addresses string
	err := rows.Scan(&r.ID, &r.Pattern, &r.Effect, &mountID, &role, &userID, &keyID, &permissions, &r.RequirePassword,
		&hash, &addresses,
		&r.Priority, &r.CreatedAt, &r.UpdatedAt)
	if err != nil {
		return StoredRule{}, fmt.Errorf("read rule: %w", err)
	}
	r.MountID, r.Role, r.UserID, r.KeyID, r.PasswordHash = mountID.String, Role(
		role.String), userID.String, keyID.String, hash.String
	if r.PasswordHash != "" {
		r.PasswordID = passwordID(r.ID, r.PasswordHash)
	}
	if r.Permissions, err = ParseSet(splitList(permissions)); err != nil {
		return StoredRule{}, fmt.Errorf("read the permissions of rule %s: %w", r.ID, err)
	}
	if r.AllowedIPs, err = ParseAddresses(splitList(addresses)); err != nil {
		return StoredRule{}, fmt.Errorf("read the addresses of rule %s: %w", r.ID, err)
	}
	return r, nil
}

// passwordID returns the id of the password of a rule, which Actor.Unlocked holds once the password
// was given. Each hash has its own salt, so setting the same password again gives another id.
func passwordID(ruleID, hash string) string {
	sum := sha256.Sum256([]byte(ruleID + " " + hash))
	return hex.EncodeToString(sum[:16])
}

// splitList splits a stored list at its commas; nil for "".
func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

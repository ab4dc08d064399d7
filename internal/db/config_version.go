package db

// ConfigVersion returns the config version: the number that BumpConfig raises with each change of
// users, keys, mounts, rules or settings, and under which caches keep them. Outside a transaction
// on SQLite it returns the number that it read before, as long as Changes reports that the row has
// not changed.
func ConfigVersion(q Querier) (int64, error) {
	r, ok := q.(reader)
	if !ok || r.db.changes == nil {
		return readConfigVersion(q)
	}
	c := r.db.changes
	if known := c.config.Load(); known != nil && c.Unchanged(known.since, configRows) {
		return known.version, nil
	}
	since := c.Now() // before the query, whose answer may be older than a commit after it
	version, err := readConfigVersion(q)
	if err == nil {
		c.config.Store(&knownConfig{version, since})
	}
	return version, err
}

var configRows = []TrackedRow{ConfigRow}

// knownConfig is the config version that was read at a moment.
type knownConfig struct {
	version int64
	since   Moment
}

// readConfigVersion reads the config version from the database.
func readConfigVersion(q Querier) (int64, error) {
	var version int64
	err := q.QueryRow("SELECT value FROM versions WHERE name = 'config'").Scan(&version)
	return version, err
}

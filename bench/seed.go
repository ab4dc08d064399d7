package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strconv"

	_ "modernc.org/sqlite" // driver "sqlite"

	"larder/internal/vpath"
)

// seeder inserts entries directly into the database of an installation, in the state that uploads
// would leave. The bytes of their objects do not exist.
type seeder struct {
	ctx       context.Context
	db        *sql.DB
	conn      *sql.Conn // a single connection, for its temporary tables
	padFormat string    // format of the SQL expression for an integer with leading zeros, with expression and width
	hexFormat string    // format of the SQL expression for an integer in 8 hexadecimal digits
	next      int       // number of the next entry
}

// seeder opens the database of the installation to insert entries into it. The caller closes the
// seeder.
func (i *installation) seeder(ctx context.Context) (*seeder, error) {
	d := &seeder{ctx: ctx, padFormat: "printf('%%0%[2]dd', %[1]s)", hexFormat: "printf('%%08x', %s)", next: 1}
	var err error
	if i.url != "" {
		d.padFormat, d.hexFormat = "lpad(CAST(%s AS TEXT), %d, '0')", "lpad(to_hex(%s), 8, '0')"
		d.db, err = sql.Open("pgx", i.url)
	} else {
		d.db, err = sql.Open("sqlite", "file:"+filepath.Join(i.dir, "data", "larder.db")+
			"?_pragma=busy_timeout(60000)&_pragma=cache_size(-200000)")
	}
	if err != nil {
		return nil, err
	}
	d.conn, err = d.db.Conn(ctx)
	return d, err
}

func (s *seeder) close() error {
	s.conn.Close()
	return s.db.Close()
}

// exec runs a statement that returns no rows. The error names the statement.
func (s *seeder) exec(query string, args ...any) error {
	if _, err := s.conn.ExecContext(s.ctx, query, args...); err != nil {
		return fmt.Errorf("%w in %s", err, query)
	}
	return nil
}

// queryOne reads the one value that a query returns into v.
func (s *seeder) queryOne(v any, query string, args ...any) error {
	if err := s.conn.QueryRowContext(s.ctx, query, args...).Scan(v); err != nil {
		return fmt.Errorf("%w in %s", err, query)
	}
	return nil
}

// transact runs fn in a transaction, which an error of fn rolls back.
func (s *seeder) transact(fn func() error) error {
	if err := s.exec("BEGIN"); err != nil {
		return err
	}
	if err := fn(); err != nil {
		s.exec("ROLLBACK")
		return err
	}
	return s.exec("COMMIT")
}

// folder inserts a folder below the folder with the id parent, whose owner it gets, and returns its
// id.
func (s *seeder) folder(parent, name string) (id string, err error) {
	id = fmt.Sprintf("f0000000-0000-4000-8000-%012d", s.next)
	s.next++
	return id, s.exec(`
		INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, created_at, updated_at, sort_key)
		SELECT $1, id, $2, $2, 0, 0, '', owner_id, created_at, created_at, $3
		FROM entries
		WHERE id = $4`, id, name, vpath.SortKey(name), parent)
}

// tree inserts three levels of folders below the folder with the id parent, fan in each, and
// returns the ids of the deepest.
func (s *seeder) tree(parent string, fan int) (deepest []string, err error) {
	level := []string{parent}
	for range 3 {
		var below []string
		for _, folder := range level {
			for i := range fan {
				id, err := s.folder(folder, strconv.Itoa(i))
				if err != nil {
					return nil, err
				}
				below = append(below, id)
			}
		}
		level = below
	}
	return level, nil
}

// fill inserts `each` files into each of the folders; every 100,000th is named queue. The owner of
// the folders gets an unlimited quota. The order of the ids is random, like that of uploads, and
// the order of the names differs from it. The letters of a name are in the place of hexadecimal
// digits, so that SQL can tell its sort key. They end at p, so no other name contains queue.
func (s *seeder) fill(folders []string, each int) error {
	return s.transact(func() error {
		if err := s.exec("DROP TABLE IF EXISTS seed_folder"); err != nil {
			return err
		}
		if err := s.exec("CREATE TEMPORARY TABLE seed_folder (i BIGINT PRIMARY KEY, id TEXT NOT NULL)"); err != nil {
			return err
		}
		for i, id := range folders {
			if err := s.exec("INSERT INTO seed_folder (i, id) VALUES ($1, $2)", i, id); err != nil {
				return err
			}
		}
		if err := s.exec("DROP TABLE IF EXISTS seed"); err != nil {
			return err
		}
		mixed := fmt.Sprintf(s.hexFormat, "n * 2654435761 % 4294967296")
		first, count := s.next, len(folders)*each
		s.next += count
		err := s.exec(fmt.Sprintf(`
			CREATE TEMPORARY TABLE seed AS
			WITH RECURSIVE s (n) AS (
				SELECT CAST(%d AS BIGINT)
				UNION ALL
				SELECT n + 1 FROM s WHERE n < %d
			)
			SELECT n, (n - %d) / %d AS i, %s AS h, %s AS id FROM s`,
			first, first+count-1, first, each, mixed,
			mixed+" || '-0000-4000-8000-' || "+fmt.Sprintf(s.padFormat, "n", 12)))
		if err != nil {
			return err
		}
		letters := "substr(h, 5, 4) || substr(h, 1, 4)"
		for digit := range 10 {
			letters = fmt.Sprintf("replace(%s, '%d', '%c')", letters, digit, 'g'+digit)
		}
		key := fmt.Sprintf("h || %s", fmt.Sprintf(s.padFormat, "n", 24))
		err = s.exec(`
			INSERT INTO objects (id, provider_id, key, size, etag, refs, created_at)
			SELECT ` + key + `, (SELECT MIN(id) FROM providers), substr(h, 1, 2) || '/' || ` + key +
			`, 1000 + n % 100000, '', 1, 1790000000000 + n
			FROM seed`)
		if err != nil {
			return err
		}
		err = s.exec(`
			INSERT INTO entries (id, parent_id, name, name_fold, kind, size, mime_type, owner_id, object_id, created_at, updated_at, sort_key,
				examined_object, ratio)
			SELECT s.id, f.id, s.word || s.n || '.jpg', s.word || s.n || '.jpg', 1, s.size, 'image/jpeg', e.owner_id, s.object_id, s.at, s.at,
				s.word || length(CAST(s.n AS TEXT)) || s.n || '.jpg', s.object_id, 150
			FROM (
				SELECT id, i, n, CASE WHEN n % 100000 = 0 THEN 'queue ' ELSE ` + letters + ` || ' ' END AS word,
					1000 + n % 100000 AS size, ` + key + ` AS object_id, 1790000000000 + n * 7919 % 1000000007 AS at
				FROM seed
			) s
			JOIN seed_folder f ON f.i = s.i
			JOIN entries e ON e.id = f.id`)
		if err != nil {
			return err
		}
		return s.exec(`
			UPDATE quotas
			SET max_storage = -1, max_files = -1, used_files = used_files + (SELECT COUNT(*) FROM seed),
				used_storage = used_storage + (SELECT CAST(SUM(1000 + n % 100000) AS BIGINT) FROM seed)
			WHERE user_id = (SELECT owner_id FROM entries WHERE id = $1)`, folders[0])
	})
}

// analyze gathers the statistics that PostgreSQL would otherwise gather in the background.
func (s *seeder) analyze() error {
	if s.hexFormat[0] == 'p' { // printf: SQLite
		return nil
	}
	return s.exec("VACUUM ANALYZE")
}

// deletionPending reports whether deleted data still exists at now (ms): rows below the graveyard,
// or garbage that is due.
func (s *seeder) deletionPending(now int64) (left bool, err error) {
	err = s.queryOne(&left, `
		SELECT EXISTS (SELECT 1 FROM entries WHERE parent_id = 'graveyard')
			OR EXISTS (SELECT 1 FROM garbage WHERE after <= $1)`, now)
	return left, err
}

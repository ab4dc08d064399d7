package files

import (
	"fmt"

	"larder/internal/db"
)

// etagSource says where a memberQuery gets ETags from.
type etagSource int

const (
	etagNone etagSource = iota
	// etagByObject is for the time before any content is copied to another provider: an ETag is the
	// id of the object.
	etagByObject
	etagByContent // needs a look at each object
)

// etagSourceNow returns where ETags come from at present: from the ids of objects while no content
// has been copied to another provider, else from content ids, which need a look at each object.
func etagSourceNow(q db.Querier) (t etagSource, err error) {
	var continued bool
	if err := q.QueryRow("SELECT EXISTS (SELECT 1 FROM objects WHERE content_id IS NOT NULL)").
		Scan(&continued); err != nil {
		return etagNone, fmt.Errorf("look for content that was moved: %w", err)
	}
	if continued {
		return etagByContent, nil
	}
	return etagByObject, nil
}

// memberQuery selects what is read of the members of a folder.
type memberQuery struct {
	dialect db.Dialect
	order   nameOrder
	etags   etagSource
	full    bool // ids, and what a decision about an entry needs; reading that costs a third more
}

// text returns the SQL of the query. Its parameters are folder, kind, key and name of the position,
// limit.
func (mq memberQuery) text() string {
	tag := map[etagSource]string{etagNone: "''", etagByObject: "COALESCE(e.object_id, '')",
		etagByContent: "COALESCE(o.content_id, o.id, '')"}[mq.etags]
	join, more := "", ""
	if mq.etags == etagByContent {
		join = " LEFT JOIN objects o ON o.id = e.object_id"
	}
	if mq.full {
		more = `, e.id, e.owner_id, CASE WHEN e.password_hash IS NULL THEN '' ELSE COALESCE(e.password_id, e.id) END`
	}
	return `
		SELECT e.name, e.size, e.mime_type, e.created_at, e.updated_at, e.` + mq.order.column() + `, ` + tag + more + `
		FROM entries e` + join + `
		WHERE e.parent_id = $1 AND e.kind = $2 AND ` + mq.order.after(mq.dialect, "$3", "$4") + `
		ORDER BY ` + mq.order.orderBy("") + `
		LIMIT $5`
}

// read calls found for the entries of a kind in a folder that come after a position in the order,
// at most limit. r.sortKey is the key of the order, for the next position. found must not keep its
// arguments.
func (mq memberQuery) read(q db.Querier, folder string, kind int, after namePosition, limit int,
	found func(m *Member, r *row)) error {
	rows, err := q.Query(mq.text(), folder, kind, after.key, after.name, limit)
	if err != nil {
		return fmt.Errorf("list a folder: %w", err)
	}
	defer rows.Close()
	m, r := Member{Folder: kind == folderKind}, row{folder: kind == folderKind}
	var content string
	into := []any{&m.Name, &m.Size, &m.MimeType, &m.CreatedAt, &m.UpdatedAt, &r.sortKey, &content}
	if mq.full {
		into = append(into, &m.ID, &r.owner, &r.password)
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("list a folder: %w", err)
		}
		m.ETag = etag(content)
		r.id, r.name = m.ID, m.Name
		found(&m, &r)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("list a folder: %w", err)
	}
	return nil
}

// anyLocksOrProperties reports whether there is any lock that has not expired at now (ms), and any
// dead property.
func anyLocksOrProperties(q db.Querier, now int64) (locks, properties bool, err error) {
	err = q.QueryRow("SELECT EXISTS (SELECT 1 FROM locks WHERE expires_at > $1), EXISTS (SELECT 1 FROM properties)",
		now).Scan(&locks, &properties)
	if err != nil {
		return false, false, fmt.Errorf("look for locks and properties: %w", err)
	}
	return locks, properties, nil
}

package db

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
)

// TableSum describes the rows of a table.
type TableSum struct {
	Table string
	Rows  int64
	// Sum is the sum of the SHA-256 of all rows, in hexadecimal. It does not depend on their order.
	Sum string
}

// ErrDifferent means that two databases have different rows.
var ErrDifferent = errors.New("the databases are different")

// Compare returns the sums of all tables of d, after checking that those of other, a database of
// the same schema on any engine, are the same. One of both must be on SQLite. Error: ErrDifferent,
// with the first table that differs.
func (d *DB) Compare(ctx context.Context, other *DB) ([]TableSum, error) {
	lite := d
	if d.dialect != sqlite {
		lite = other
	}
	names, err := tables(lite.dialect, lite.Read(ctx))
	if err != nil {
		return nil, fmt.Errorf("compare the databases: %w", err)
	}
	sums := make([]TableSum, 0, len(names))
	for _, name := range names {
		columns, err := columnsOf(lite.Read(ctx), name)
		if err != nil {
			return nil, fmt.Errorf("compare the databases: %w", err)
		}
		here, err := sumTable(d.Read(ctx), name, columns)
		if err != nil {
			return nil, fmt.Errorf("compare the table %s: %w", name, err)
		}
		there, err := sumTable(other.Read(ctx), name, columns)
		if err != nil {
			return nil, fmt.Errorf("compare the table %s: %w", name, err)
		}
		if here != there {
			return nil, fmt.Errorf("%w: the table %s has %d rows with the sum %s here, and %d with %s there",
				ErrDifferent, name, here.Rows, here.Sum, there.Rows, there.Sum)
		}
		sums = append(sums, here)
	}
	return sums, nil
}

// sumTable returns the number of rows of a table and the sum over the named columns.
func sumTable(q Querier, table string, columns []string) (TableSum, error) {
	rows, err := q.Query("SELECT " + columnList(columns) + " FROM " + quoteName(table))
	if err != nil {
		return TableSum{}, err
	}
	defer rows.Close()
	var count int64
	var lanes [sha256.Size / 8]uint64
	var text []byte
	err = eachRow(rows, len(columns), func(values []any) error {
		text = text[:0]
		for _, value := range values {
			if text, err = appendValue(text, value); err != nil {
				return err
			}
		}
		sum := sha256.Sum256(text)
		for i := range lanes {
			lanes[i] += binary.BigEndian.Uint64(sum[8*i:])
		}
		count++
		return nil
	})
	var sum []byte
	for _, lane := range lanes {
		sum = binary.BigEndian.AppendUint64(sum, lane)
	}
	return TableSum{Table: table, Rows: count, Sum: hex.EncodeToString(sum)}, err
}

// appendValue appends a value in a form that is the same for both engines, which have different
// types for booleans and for bytes.
func appendValue(text []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(text, 'n'), nil
	case int64:
		return strconv.AppendInt(append(text, 'i'), v, 10), nil
	case bool:
		if v {
			return append(text, "i1"...), nil
		}
		return append(text, "i0"...), nil
	case float64:
		return strconv.AppendFloat(append(text, 'f'), v, 'g', -1, 64), nil
	case string:
		return append(strconv.AppendInt(append(text, 's'), int64(len(v)), 10), ":"+v...), nil
	case []byte:
		return append(strconv.AppendInt(append(text, 's'), int64(len(v)), 10), ":"+string(v)...), nil
	default:
		return nil, fmt.Errorf("a value of the type %T", value)
	}
}

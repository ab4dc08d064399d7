package files

import (
	"strconv"
	"strings"
)

// statement is the text of an SQL statement with its arguments.
type statement struct {
	strings.Builder
	args []any
}

// arg adds a parameter to the statement and returns its placeholder, such as `$3`.
func (s *statement) arg(value any) string {
	s.args = append(s.args, value)
	return "$" + strconv.Itoa(len(s.args))
}

// row writes row n, counted from 0, of a list of VALUES, with a parameter for each of the values.
func (s *statement) row(n int, values ...any) {
	if n > 0 {
		s.WriteString(", ")
	}
	for i, value := range values {
		s.WriteString([]string{"(", ", "}[min(i, 1)] + s.arg(value))
	}
	s.WriteString(")")
}

// pieceRows is the number of rows that one statement writes.
const pieceRows = 20

// eachPiece calls write for pieces of rows: of pieceRows each, and of single rows at the end, so
// that few statements are prepared. The first error of write ends it.
func eachPiece[T any](rows []T, write func(piece []T) error) error {
	for len(rows) > 0 {
		n := 1
		if len(rows) >= pieceRows {
			n = pieceRows
		}
		if err := write(rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

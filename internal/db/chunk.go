package db

import (
	"fmt"
	"strings"
)

// ChunkSize is how many ids one statement takes, as its first parameters; always the same number,
// so that its text is prepared once.
const ChunkSize = 100

// InChunk is `IN ($1, …)` for one chunk.
var InChunk = func() string {
	var b strings.Builder
	b.WriteString("IN (")
	for i := range ChunkSize {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", i+1)
	}
	return b.String() + ")"
}()

// AfterChunk is the parameter that comes after a chunk of ids, and AfterChunk2 the one after that.
const (
	AfterChunk  = "$101"
	AfterChunk2 = "$102"
)

// EachChunk calls do with a chunk of ids, the last one filled up by repeating an id, and what
// more the statement takes.
func EachChunk(ids []string, do func(args []any) error, more ...any) error {
	for len(ids) > 0 {
		n := min(len(ids), ChunkSize)
		args := make([]any, 0, ChunkSize+len(more))
		for _, id := range ids[:n] {
			args = append(args, id)
		}
		for len(args) < ChunkSize {
			args = append(args, ids[n-1])
		}
		if err := do(append(args, more...)); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

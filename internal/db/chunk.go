package db

import (
	"fmt"
	"strings"
)

// ChunkSize is the number of ids that one statement takes, as its first parameters. It is constant,
// so that the statement is prepared once.
const ChunkSize = 100

// InChunk is the SQL text `IN ($1, …)` for one chunk.
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

// AfterChunk is the first parameter after a chunk of ids, and AfterChunk2 the second.
const (
	AfterChunk  = "$101"
	AfterChunk2 = "$102"
)

// EachChunk splits ids into chunks of ChunkSize and calls do for each with the arguments of a
// statement that contains InChunk: the ids of the chunk, then more. The last chunk is filled up by
// repeating an id. The first error of do ends it.
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

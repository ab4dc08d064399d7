package audit

import (
	"context"
	"fmt"
)

// TopOrder is the figure by which Top orders paths.
type TopOrder string

// The orders, the largest first.
const (
	ByBytes TopOrder = "bytes"
	ByCount TopOrder = "count"
)

// PathTraffic is the number and the bytes of the downloads at a path.
type PathTraffic struct {
	Path         string
	Count, Bytes int64 // requests and sent bytes
}

// Top returns the paths that were downloaded most, also from shares, between from (inclusive) and
// to (exclusive, both ms), at most limit of them, ordered by an order. It sums only successful
// requests. Entries without a path of their own (otherPaths) are missing. If the span has more than
// TopEntries entries of an action, Top leaves out the oldest: since (ms) is the beginning of the
// span that Top has summed, otherwise from. Sums of an hour count at the time at which it begins.
// Entries of the last second may be missing.
func (l *Log) Top(ctx context.Context, order TopOrder, from, to, limit int64) (top []PathTraffic, since int64,
	err error) {
	read, since := l.DB.Read(ctx), from
	for _, action := range []Action{Download, ShareDownload} {
		excess, err := excessDownload(read, action, from, to, l.TopEntries)
		if err != nil {
			return nil, 0, fmt.Errorf("count the downloads: %w", err)
		}
		since = max(since, excess+1)
	}
	if top, err = topPaths(read, order, since, to, limit); err != nil {
		return nil, 0, fmt.Errorf("sum the downloads: %w", err)
	}
	return top, since, nil
}

package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"larder/internal/concurrency"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// A search reads every name below its path and costs some hundred milliseconds of processor time
// among 100,000 files. Visitors need no account for it, so they share a few slots. Each replica has
// its own slots.
const (
	searchesPerMinute     = 20 // of an address
	maxSearchesPerAddress = 1  // of an address
	maxSearches           = 4
	searchWait            = 10 * time.Second // how long a search waits for a slot
)

// listPublicFiles handles GET /api/public/files: it lists or searches the entries that a visitor
// without an account sees, for every caller. The reply omits the owners.
func (a *API) listPublicFiles(c *call, in listFilesInput) (listFilesReply, error) {
	path, err := vpath.Parse(valueOr(in.Path, "/"))
	if err != nil {
		return listFilesReply{}, err
	}
	query := in.query(path)
	if query.Search != "" {
		release, err := c.startSearch()
		if err != nil {
			return listFilesReply{}, err
		}
		defer release()
	}
	listing, err := a.Tree.ListPublic(c.ctx(), c.actor, query)
	if err != nil {
		return listFilesReply{}, err
	}
	reply := viewListing(listing, in)
	for i := range reply.Items {
		reply.Items[i].OwnerID = ""
	}
	if reply.Folder != nil {
		reply.Folder.OwnerID = ""
	}
	return reply, nil
}

// startSearch counts a visitor's search, at most searchesPerMinute of an address, and waits for a
// slot among the searches that run at the same time. The caller keeps the slot until it calls
// release. Fault: RateLimited.
func (c *call) startSearch() (release func(), err error) {
	address := addressKey(c.ip)
	seen, err := c.takeByAddress(c.ctx(), "search", searchesPerMinute, 1)
	if err != nil {
		return nil, err
	}
	if !seen.Allowed {
		message := fmt.Sprintf("Without an account you can search %d times a minute. Please wait a moment.",
			searchesPerMinute)
		return nil, &fault.Error{Kind: fault.RateLimited, Message: message, RetryAfter: seen.RetryAfter}
	}
	return acquireSearch(c.ctx(), c.a.searchLimit, address, c.a.SearchWait)
}

// acquireSearch waits for one of the slots for searches in this process, no longer than wait. An
// address holds at most maxSearchesPerAddress slots. The caller keeps the slot until it calls
// release. Fault: RateLimited. Error: that of ctx.
func acquireSearch(ctx context.Context, searches *concurrency.Limit, address string, wait time.Duration) (
	release func(), err error) {
	release, err = searches.Acquire(ctx, wait, concurrency.Source{Name: address, Max: maxSearchesPerAddress})
	var full *concurrency.LimitError
	if errors.As(err, &full) {
		return nil, &fault.Error{Kind: fault.RateLimited, Message: "The search is busy. Please wait a moment.",
			RetryAfter: searchWait}
	}
	return release, err
}

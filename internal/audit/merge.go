package audit

import "net/netip"

// An account or an address that does very much in a minute has so many entries of its own; the rest
// of the minute is merged, so that nobody can push out of the log what others did, nor fill the
// buffer (abuse case C113). Every replica counts for itself.

// source is whose entries are counted together. Traffic has an allowance of its own: no flood of
// reads hides what was deleted.
type source struct {
	name    string // an account's id or a network; "" for those that are too many to count each
	account bool   // an account
	traffic bool
}

// mergeKey is what entries of a crowd are merged by.
type mergeKey struct {
	from   int64 // the first millisecond of the minute
	userID string
	ip     string
	action Action
	status int
}

func (at mergeKey) end() int64 { return at.from + minute }

// sources counts entries of the running minute. It is guarded by Log.mu.
type minuteCounts struct {
	from     int64 // the first millisecond of the minute
	unmerged map[source]int
	counted  [2]int // of visitors' networks and of accounts, how many are counted each
	merged   sums[mergeKey]
}

// sourceOf tells whose an entry is. A failed login is told of the account that was meant, which has
// no part in it: the address counts.
func sourceOf(e *Entry) source {
	c := source{name: e.UserID, account: true}
	if e.UserID == "" || e.Action == LoginFailed {
		c.name, c.account = network(e.IP), false
	}
	switch e.Action {
	case Upload, Download, Preview, ShareDownload, WebDAV, FreeMode:
		c.traffic = true
	}
	return c
}

// network is an address, of IPv6 its /64, of which a household has a whole one.
func network(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil || addr.Unmap().Is4() {
		return ip
	}
	prefix, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return ip
	}
	return prefix.String()
}

// merge takes an entry that is one too many of its crowd, and reports whether it did. What
// administrators change is never merged. It needs l.mu.
func (l *Log) merge(e *Entry) bool {
	if e.Action == Admin {
		return false
	}
	c, src := &l.sources, sourceOf(e)
	if from := e.CreatedAt - e.CreatedAt%minute; from != c.from {
		c.from, c.counted = from, [2]int{}
		c.unmerged = map[source]int{}
	}
	kind := 0
	if src.account {
		kind = 1
	}
	if _, known := c.unmerged[src]; !known {
		if c.counted[kind] < l.MaxSources {
			c.counted[kind]++
		} else {
			src.name = ""
		}
	}
	if c.unmerged[src] < l.MaxUnmerged {
		c.unmerged[src]++
		return false
	}
	at := mergeKey{from: c.from, action: e.Action, status: e.Status}
	if src.account {
		at.userID = src.name
	} else {
		at.ip = src.name
	}
	if _, known := c.merged[at]; !known && len(c.merged) >= l.MaxSources {
		at.userID, at.ip = "", ""
	}
	if _, known := c.merged[at]; !known && len(c.merged) >= 2*l.MaxSources { // nothing has been written for long
		l.dropped++
		return true
	}
	c.merged.add(at, sum{e.Count, e.Bytes})
	return true
}

// mergedEntries makes entries of what was merged.
func mergedEntries(merged sums[mergeKey]) []Entry {
	entries := make([]Entry, 0, len(merged))
	for at, s := range merged {
		entries = append(entries, Entry{
			UserID: at.userID, IP: at.ip, Action: at.action, Path: otherPaths, Bytes: s.bytes, Status: at.status,
			Count: s.requests, CreatedAt: at.from,
		})
	}
	return entries
}

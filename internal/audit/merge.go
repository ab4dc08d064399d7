package audit

import "net/netip"

// An account or address has a limited number of entries of its own in a minute. Further entries of
// the minute are merged, so that no source can push the entries of others out of the log, or fill
// the buffer (abuse case C113). Every replica counts separately.

// source identifies the entries that are counted together. Traffic has a limit of its own, so that
// many reads do not hide deletions.
type source struct {
	name    string // an account id or a network; "" when there are too many to count separately
	account bool   // name is an account id
	traffic bool
}

// mergeKey is the key under which entries of a source are merged.
type mergeKey struct {
	from   int64 // the first millisecond of the minute
	userID string
	ip     string
	action Action
	status int
}

// end returns the time (ms) at which the minute is over.
func (k mergeKey) end() int64 { return k.from + minute }

// minuteCounts counts the entries of the running minute. It is guarded by Log.mu.
type minuteCounts struct {
	from     int64 // the first millisecond of the minute
	unmerged map[source]int
	counted  [2]int // number of networks (of visitors) and of accounts that are counted separately
	merged   sums[mergeKey]
}

// sourceOf returns the source whose limit an entry counts for: its account, or the network of a
// visitor. A failed login has the address as its source: the entry names the account that was
// tried, which did nothing.
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

// network returns an IPv4 address as it is, and the /64 of an IPv6 address, since one household has
// a whole /64.
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

// merge adds an entry that exceeds the limit of its source to the sums of the minute, and reports
// whether it did; otherwise the entry is to be written as it is. Entries of the action Admin are
// never merged. The caller holds l.mu.
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
	if _, known := c.merged[at]; !known && len(c.merged) >= 2*l.MaxSources { // no write has succeeded for long
		l.dropped++
		return true
	}
	c.merged.add(at, sum{e.Count, e.Bytes})
	return true
}

// mergedEntries returns the entries to write for sums of merged entries, one for each key, with
// otherPaths as their path.
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

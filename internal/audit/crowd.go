package audit

import "net/netip"

// An account or an address that does very much in a minute has so many entries of its own; the rest of the minute is merged, so that nobody can push
// out of the log what others did, nor fill the buffer (abuse case C113). Every replica counts for itself.

// crowd is whose entries are counted together. Traffic has an allowance of its own: no flood of reads hides what was deleted.
type crowd struct {
	who     string // an account's id or a network; "" for those that are too many to count each
	signed  bool   // an account
	traffic bool
}

// merger is what entries of a crowd are merged by.
type merger struct {
	from   int64 // the first millisecond of the minute
	userID string
	ip     string
	action Action
	status int
}

func (at merger) end() int64 { return at.from + minute }

// crowds counts entries of the running minute. It is guarded by Log.mu.
type crowds struct {
	from   int64 // the first millisecond of the minute
	alone  map[crowd]int
	known  [2]int // of visitors' networks and of accounts, how many are counted each
	merged sums[merger]
}

// crowdOf tells whose an entry is. A failed login is told of the account that was meant, which has no part in it: the address counts.
func crowdOf(e *Entry) crowd {
	c := crowd{who: e.UserID, signed: true}
	if e.UserID == "" || e.Action == LoginFailed {
		c.who, c.signed = network(e.IP), false
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

// merge takes an entry that is one too many of its crowd, and reports whether it did. What administrators change is never merged. It needs l.mu.
func (l *Log) merge(e *Entry) bool {
	if e.Action == Admin {
		return false
	}
	c, who := &l.crowds, crowdOf(e)
	if from := e.CreatedAt - e.CreatedAt%minute; from != c.from {
		c.from, c.known = from, [2]int{}
		c.alone = map[crowd]int{}
	}
	kind := 0
	if who.signed {
		kind = 1
	}
	if _, known := c.alone[who]; !known {
		if c.known[kind] < l.Crowds {
			c.known[kind]++
		} else {
			who.who = ""
		}
	}
	if c.alone[who] < l.Alone {
		c.alone[who]++
		return false
	}
	at := merger{from: c.from, action: e.Action, status: e.Status}
	if who.signed {
		at.userID = who.who
	} else {
		at.ip = who.who
	}
	if _, known := c.merged[at]; !known && len(c.merged) >= l.Crowds {
		at.userID, at.ip = "", ""
	}
	if _, known := c.merged[at]; !known && len(c.merged) >= 2*l.Crowds { // nothing has been written for long
		l.dropped++
		return true
	}
	c.merged.add(at, sum{e.Count, e.Bytes})
	return true
}

// mergedRows makes entries of what was merged.
func mergedRows(merged sums[merger]) []Entry {
	entries := make([]Entry, 0, len(merged))
	for at, s := range merged {
		entries = append(entries, Entry{
			UserID: at.userID, IP: at.ip, Action: at.action, Path: otherPaths, Bytes: s.bytes, Status: at.status, Count: s.requests, CreatedAt: at.from,
		})
	}
	return entries
}

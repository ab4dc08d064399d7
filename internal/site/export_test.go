package site

import "time"

// KeepsLateRead reports whether settings are cached that were read before a change and stored after
// it.
func KeepsLateRead() (kept bool) {
	var r recentSettings
	now := time.UnixMilli(1)
	_, _, changes := r.get(now)
	r.invalidate()
	r.store(Defaults(), now, changes)
	_, kept, _ = r.get(now)
	return kept
}

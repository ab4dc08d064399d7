package site

import "time"

// KeepsLateRead returns whether settings are kept that a reader got before a change and
// hands in after it.
func KeepsLateRead() (kept bool) {
	var r recentSettings
	now := time.UnixMilli(1)
	_, _, changes := r.get(now)
	r.invalidate()
	r.store(Defaults(), now, changes)
	_, kept, _ = r.get(now)
	return kept
}

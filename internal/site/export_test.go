package site

import "time"

// LateReader returns whether settings are kept that a reader got before a change and hands in after it.
func LateReader() (kept bool) {
	var r recent
	now := time.UnixMilli(1)
	_, _, changes := r.get(now)
	r.forget()
	r.keep(Defaults(), now, changes)
	_, kept, _ = r.get(now)
	return kept
}

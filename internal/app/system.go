package app

import "larder/internal/kv/redis"

// warnings returns sentences for an administrator about problems of this process. To add one, add a
// function that returns it, or "".
func (a *App) warnings() []string {
	var sentences []string
	for _, warn := range []func() string{
		a.auditWarning,
		a.redisWarning,
	} {
		if sentence := warn(); sentence != "" {
			sentences = append(sentences, sentence)
		}
	}
	return sentences
}

func (a *App) auditWarning() string {
	if a.damagedAuditFile == "" {
		return ""
	}
	return "The access log was damaged when the service started, so it was set aside as " + a.damagedAuditFile +
		" and a new one was begun. Check the disk."
}

func (a *App) redisWarning() string {
	if shared, is := a.counters.(*redis.Store); !is || !shared.State().Down {
		return ""
	}
	return "Redis does not answer, so each replica counts rate limits by itself. They are shared again as soon as it " +
		"answers."
}

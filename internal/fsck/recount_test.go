package fsck_test

import (
	"testing"
	"time"
)

// Replicas of an earlier version do not count folders. The numbers are corrected within an hour.
// This does not apply to SQLite.
func TestFoldersAreCountedAgain(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		const wrong = `SELECT used_folders - (SELECT COUNT(*) FROM entries e WHERE e.owner_id = u.id AND e.kind = 0)
			FROM quotas q JOIN users u ON u.id = q.user_id WHERE u.username = 'alice'`
		recount := func() int64 {
			t.Helper()
			for _, a := range s.l.Apps {
				s.must(a.Fsck.Recount(t.Context()))
			}
			return s.number(wrong)
		}
		s.exec("UPDATE quotas SET used_folders = used_folders + 3 WHERE used_files > 0")
		if got := recount(); got != 3 {
			t.Errorf("the first call takes no turn: the number is %d too large", got)
		}
		s.l.Clock.Advance(61 * time.Minute)
		want := int64(0)
		if s.l.Apps[0].DB.Dialect() == "sqlite" {
			want = 3
		}
		if got := recount(); got != want {
			t.Errorf("an hour later the number is %d too large, want %d", got, want)
		}
	})
}

package e2e

import "testing"

// The time of a key's last use survives a stop right after the use.
func TestLastUseOfAKeySurvivesAStop(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.keepPort(t)
	p := s.start(t)
	token := s.key(t, "admin")
	withKey(token, p.url).do(t, "GET", "/api/files?path=/", nil).want(t, 200)
	p.stop(t)
	p = s.start(t)
	var list struct {
		Keys []struct {
			KeyID      string
			LastUsedAt *int64
		}
	}
	p.admin(t).do(t, "GET", "/api/keys/", nil).data(t, 200, &list)
	if len(list.Keys) != 1 || list.Keys[0].KeyID != token[:27] || list.Keys[0].LastUsedAt == nil {
		t.Errorf("after the stop: %+v", list.Keys)
	}
}

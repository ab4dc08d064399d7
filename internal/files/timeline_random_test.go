package files_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

// mediumAt is a picture or a video of a random tree.
type mediumAt struct {
	id, mimeType string
	ms           int64 // when it was taken or created
	ratio        int
}

// media gives random types, times and proportions to the files of the tree, and returns the
// pictures and videos among them by id.
func (rt *randomTree) media() map[string]mediumAt {
	found := map[string]mediumAt{}
	months := []time.Time{time.Date(2025, 7, 31, 23, 59, 59, 0, time.UTC), time.Date(2025, 8, 1, 0, 0, 0, 0, time.UTC),
		time.Date(1969, 12, 31, 23, 0, 0, 0, time.UTC)}
	rt.write(func(tx *db.Tx) error {
		for _, parent := range slices.Sorted(maps.Keys(rt.entries)) {
			for _, e := range rt.entries[parent] {
				if e.folder {
					continue
				}
				m := mediumAt{id: e.id, mimeType: rt.pick("image/jpeg", "image/png", "video/mp4", "text/plain"),
					ms: months[rt.rand.IntN(3)].UnixMilli()}
				created, ratio, taken := m.ms, any(nil), any(nil)
				if rt.rand.IntN(2) == 0 { // examined
					m.ratio = rt.rand.IntN(300)
					ratio = m.ratio
					if rt.rand.IntN(2) == 0 { // the picture states its time
						m.ms = months[rt.rand.IntN(3)].UnixMilli()
						taken = m.ms
					}
				}
				if m.mimeType != "text/plain" {
					found[e.id] = m
				}
				if _, err := tx.Exec(`
					UPDATE entries
					SET mime_type = $1, created_at = $2, ratio = $3, taken_at = $4
					WHERE id = $5`, m.mimeType, created, ratio, taken, e.id); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return found
}

// A timeline contains exactly those media that a check of each entry allows to see and to download:
// the actor's own ones, or all below a folder. Its months count them, and its pages contain each of
// them once.
func TestTimelineMatchesPerEntryChecks(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		for seed := range seedCount {
			w := newRandomTree(h, seed)
			media := w.media()
			for range 6 {
				w.checkTimeline(t, seed, media)
			}
			if t.Failed() {
				return
			}
		}
	})
}

func (rt *randomTree) checkTimeline(t *testing.T, seed uint64, media map[string]mediumAt) {
	who := rt.randomActor()
	q := files.TimelineQuery{Types: files.TypeGroup(rt.pick("", "image", "video"))}
	in := vpath.Root
	below := rt.rand.IntN(2) == 0
	if below {
		in = who.paths[rt.rand.IntN(len(who.paths))]
		q.Below = &in
	}
	var want []mediumAt
	for _, e := range who.visible {
		m, is := media[e.id]
		if q.Types != "" && !strings.HasPrefix(m.mimeType, string(q.Types)) {
			is = false
		}
		if is && e.path.Within(in) && (below || who.UserID != "" && e.owner == who.UserID) &&
			rt.visible(who.Actor, e, who.home, who.hasHome) && rt.mayDownload(who.Actor, e) {
			want = append(want, m)
		}
	}
	slices.SortFunc(want, func(a, b mediumAt) int { return cmp.Or(cmp.Compare(b.ms, a.ms), cmp.Compare(b.id, a.id)) })
	_, refused := rt.tree.List(t.Context(), who.Actor, files.ListQuery{Path: in, Page: 1, Limit: 1})
	if !below {
		refused = nil
	}
	months, err := rt.tree.Timeline(t.Context(), who.Actor, q)
	if !sameRefusal(err, refused) {
		t.Errorf("seed %d: the months below %s: %v; the listing: %v", seed, in, err, refused)
	}
	if refused == nil {
		rt.wantMonths(t, seed, months, want)
	}
	var got []string
	page := files.TimelinePage{}
	for first := true; first || page.Next != ""; first = false {
		page, err = rt.tree.TimelineEntries(t.Context(), who.Actor, q,
			files.TimelinePosition{Cursor: page.Next, Limit: 1 + rt.rand.IntN(3)})
		if !sameRefusal(err, refused) {
			t.Errorf("seed %d: the pages below %s: %v; the listing: %v", seed, in, err, refused)
		}
		if err != nil {
			return
		}
		for _, e := range page.Items {
			got = append(got, e.ID)
		}
	}
	ids := make([]string, len(want))
	for i, m := range want {
		ids[i] = m.id
	}
	if !slices.Equal(got, ids) {
		t.Errorf("seed %d: %+v below %v as %+v key %+v:\n%q, want\n%q", seed, q, in, who.Actor, who.Key, got, ids)
	}
}

// sameRefusal reports whether an error and that of the listing are of the same kind.
func sameRefusal(err, listed error) bool {
	for _, kind := range []fault.Kind{fault.NotFound, fault.Forbidden, fault.PasswordRequired} {
		if fault.Is(err, kind) && fault.Is(listed, kind) {
			return true
		}
	}
	return err == nil && listed == nil
}

// wantMonths compares the months of a timeline.
func (rt *randomTree) wantMonths(t *testing.T, seed uint64, months []files.TimelineMonth, want []mediumAt) {
	t.Helper()
	var got, wanted []string
	for _, m := range months {
		for _, ratio := range m.Ratios {
			got = append(got, fmt.Sprintf("%s %d", m.Month, ratio))
		}
	}
	names := map[int64]string{time.Date(2025, 7, 31, 23, 59, 59, 0, time.UTC).UnixMilli(): "2025-07",
		time.Date(2025, 8, 1, 0, 0, 0, 0, time.UTC).UnixMilli(): "2025-08", -3_600_000: "1969-12"}
	for _, m := range want {
		wanted = append(wanted, fmt.Sprintf("%s %d", names[m.ms], m.ratio))
	}
	if !slices.Equal(got, wanted) {
		t.Errorf("seed %d: months %q, want %q", seed, got, wanted)
	}
}

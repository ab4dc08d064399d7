package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"larder/internal/ident"
)

// markersName begins the names of markers in a bucket.
const markersName = "running"

// markerAge is how long a marker of another installation counts after it was written, by the
// server's clock. A run writes a new one every minute, see Config.RenewEvery.
const markerAge = 10 * time.Minute

// errNotAlone ends a backup when another one into the same bucket is under way.
var errNotAlone = errors.New("another backup into the same place is under way, or was interrupted less than ten " +
	"minutes ago: wait, and run this one again")

// marker shows other installations that a backup is under way: an object `running/<id>-<n>`. The id
// is that of the data directory, whose lock lets one backup run at a time, so that markers with the
// own id are leftovers of an interrupted run.
//
// Each of two runs writes its marker before it looks for others, so at least one of them sees the
// other. Ages are differences between times of the server, so no clock of an installation matters.
type marker struct {
	bucketSource
	id   string
	end  context.CancelFunc
	work sync.WaitGroup

	mu        sync.Mutex // guards the numbers, and lets one check run at a time
	n         int        // of the newest marker
	confirmed int        // of the newest one with which a check succeeded
}

// placeMarker writes the first marker and begins to renew it.
func (b *bucket) placeMarker(ctx context.Context, s *Service, lose context.CancelCauseFunc) error {
	id, err := b.localID(s.Objects.IDs)
	if err != nil {
		return err
	}
	m := &marker{bucketSource: b.bucketSource, id: id, end: func() {}}
	b.marker = m
	if err := m.removeOwn(ctx); err != nil {
		return b.explain(err)
	}
	if err := m.check(ctx); err != nil {
		return b.explain(err)
	}
	ctx, m.end = context.WithCancel(ctx)
	m.work.Go(func() {
		tick := time.NewTicker(s.RenewEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			switch err := m.check(ctx); {
			case errors.Is(err, errNotAlone):
				lose(err)
			case err != nil && ctx.Err() == nil: // the check before the manifest shows whether it matters
				s.Log.Warn("renew the marker of a backup", "error", err)
			}
		}
	})
	return nil
}

// localID returns the id of the data directory, which the lock file holds.
func (b *bucket) localID(ids *ident.Source) (string, error) {
	text, err := io.ReadAll(io.LimitReader(b.lock, 100))
	if err != nil {
		return "", fmt.Errorf("read the id of the data directory: %w", err)
	}
	id := strings.TrimSpace(string(text))
	if len(id) == 2*localIDBytes && strings.Trim(id, "0123456789abcdef") == "" {
		return id, nil
	}
	id = ids.Hex(localIDBytes) // of a new file, or of one that a crash has cut
	if err := b.lock.Truncate(0); err != nil {
		return "", fmt.Errorf("write the id of the data directory: %w", err)
	}
	if _, err := b.lock.WriteAt([]byte(id+"\n"), 0); err != nil {
		return "", fmt.Errorf("write the id of the data directory: %w", err)
	}
	return id, nil
}

const localIDBytes = 10

// firstMarker ends the name of the first marker of a run. A run that has renewed its marker ignores
// it: the other run has found this one's marker and gives up.
const firstMarker = "-000001"

// check writes a new marker, removes the one before, and looks for others. Error: errNotAlone when
// another installation has one that counts.
func (m *marker) check(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	own := m.name(m.n)
	if err := m.putText(ctx, own, []byte("a backup is under way\n")); err != nil {
		return err
	}
	written := map[string]time.Time{}
	err := m.store.WalkNamed(ctx, markersName+"/", func(name string, _ int64, at time.Time) error {
		written[name] = at
		return nil
	})
	if err != nil {
		return err
	}
	before := false     // the confirmed one is still there, and no other run took it for a leftover
	var remove []string // the ones before, and leftovers
	for name, at := range written {
		switch {
		case name == own, !isMarker.MatchString(name):
			continue
		case strings.HasPrefix(name, m.name(-1)):
			before = before || name == m.name(m.confirmed) && written[own].Sub(at) < markerAge
		case written[own].Sub(at) >= markerAge: // a leftover
		case m.n > 1 && strings.HasSuffix(name, firstMarker):
			continue
		default:
			return errNotAlone
		}
		remove = append(remove, name)
	}
	if written[own].IsZero() || m.n > 1 && !before {
		return errNotAlone // another run took this one for a leftover
	}
	m.confirmed = m.n
	for _, name := range remove {
		if err := m.store.DeleteNamed(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// isMarker matches the names of markers.
var isMarker = regexp.MustCompile(`^` + markersName + `/[0-9a-f]{20}-[0-9]{6,}$`)

// name returns the name of a marker; of a negative number, what the names begin with.
func (m *marker) name(n int) string {
	if n < 0 {
		return markersName + "/" + m.id + "-"
	}
	return fmt.Sprintf("%s/%s-%06d", markersName, m.id, n)
}

// removeOwn removes the markers with the own id.
func (m *marker) removeOwn(ctx context.Context) error {
	return m.store.WalkNamed(ctx, m.name(-1), func(name string, _ int64, _ time.Time) error {
		return m.store.DeleteNamed(ctx, name)
	})
}

// remove ends the renewal and removes the marker. A marker that stays counts for markerAge, and the
// next run of this installation removes it.
func (m *marker) remove() {
	m.end()
	m.work.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = m.removeOwn(ctx)
}

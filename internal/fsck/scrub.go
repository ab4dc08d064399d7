package fsck

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"larder/internal/crash"
	"larder/internal/db"
	"larder/internal/files"
	"larder/internal/object"
	"larder/internal/provider"
)

const (
	// ScrubCommand is the name under which a pass records its outcome, see LastScrub.
	ScrubCommand = "scrub"

	// scrubPage is the number of objects that one query returns.
	scrubPage = 100
	// scrubObjectCost is the number of bytes as which a smaller object counts in the rate.
	scrubObjectCost = 64 << 10
	// scrubPageBytes is the number of bytes after which a page ends, so that the position is saved.
	scrubPageBytes = 1 << 30
	// maxUnreadable is the number of objects in a row that a disk cannot read after which the disk
	// counts as unavailable: a disk that is gone can still answer questions from memory.
	maxUnreadable = 3
	// maxSources is the number of other objects that are tried to heal one.
	maxSources = 5
)

// ScrubSummary counts what a pass has done.
type ScrubSummary struct {
	Objects, Bytes int64 // that were read
	Unhashed       int64 // objects without a SHA-256, of which only the size was compared
	Unread         int64 // objects that their store could not give at the time
	Findings       int64 // damaged objects
	Healed         int64 // of these
}

// counts are the counts that are stored beside the number of findings, by name.
func (s *ScrubSummary) counts() map[string]*int64 {
	return map[string]*int64{"objects": &s.Objects, "bytes": &s.Bytes, "unhashed": &s.Unhashed, "unread": &s.Unread,
		"healed": &s.Healed}
}

// count adds objects that were read, with the bytes that were read of them.
func (s *ScrubSummary) count(page []storedObject, bytes int64) {
	s.Objects += int64(len(page))
	s.Bytes += bytes
	for _, o := range page {
		if o.sha256 == "" {
			s.Unhashed++
		}
	}
}

// Backup is a backup from which damaged objects are healed.
type Backup interface {
	// Copies returns where the backup may have the content of an object, the most probable location
	// first. A copy can be read until the next one is asked for.
	Copies(ctx context.Context, of object.Record) iter.Seq2[object.Copy, error]
	Close() error
}

// ScrubOptions are the options of a pass of the command.
type ScrubOptions struct {
	Backup Backup        // nil for none
	Report func(Finding) // called with each finding as it is found; nil for none
}

// scrub is a pass, or a part of one.
type scrub struct {
	ScrubOptions
	pace  *files.Pace
	state *scrubState
	// opens the backup when it is needed first; nil for ScrubOptions.Backup
	openBackup func(ctx context.Context) (Backup, error)
	// called after each page; it may save the state
	step func(ctx context.Context, bytes int64) error
}

// scrubState is the position of a pass and what it has found.
type scrubState struct {
	Started   int64             // ms
	Positions map[string]string // by provider: key of the last object that was read
	Ended     map[string]bool   // providers of which all objects were read
	Summary   ScrubSummary
}

func newScrubState(now int64) *scrubState {
	return &scrubState{Started: now, Positions: map[string]string{}, Ended: map[string]bool{}}
}

// Scrub reads every object once, without a rate limit, heals or marks the damaged ones, and records
// its outcome. It can run beside servers and beside their scrub.
func (s *Service) Scrub(ctx context.Context, o ScrubOptions) (ScrubSummary, error) {
	state := newScrubState(s.Now().UnixMilli())
	pass := scrub{ScrubOptions: o, state: state, step: func(context.Context, int64) error { return nil }}
	complete, err := s.scrubProviders(ctx, &pass)
	if err != nil {
		return state.Summary, err
	}
	if !complete {
		if err := s.countUnread(ctx, state); err != nil {
			return state.Summary, err
		}
	}
	return state.Summary, s.recordScrub(ctx, state.Summary)
}

// recordScrub records the outcome of a pass.
func (s *Service) recordScrub(ctx context.Context, sum ScrubSummary) error {
	err := s.DB.Write(ctx, func(tx *db.Tx) error { return writeScrubSummary(tx, s.Now().UnixMilli(), sum) })
	if err != nil {
		return fmt.Errorf("the pass is complete, but its outcome could not be recorded: %w", err)
	}
	return nil
}

// scrubbed returns the providers whose objects are read: local disks, and buckets if that is
// configured.
func (s *Service) scrubbed(ctx context.Context) ([]provider.Provider, error) {
	all, err := s.Providers.All(ctx)
	if err != nil {
		return nil, err
	}
	var list []provider.Provider
	for _, p := range all {
		if p.Type == provider.BuiltIn || s.ScrubBuckets {
			list = append(list, p)
		}
	}
	return list, nil
}

// scrubProviders continues a pass, and reports whether it is complete: false when a store was
// unavailable.
func (s *Service) scrubProviders(ctx context.Context, pass *scrub) (complete bool, err error) {
	list, err := s.scrubbed(ctx)
	if err != nil {
		return false, err
	}
	complete = true
	for _, p := range list {
		if pass.state.Ended[p.ID] {
			continue
		}
		c := &check{Service: s, Options: Options{Deep: true, Report: pass.Report}, ctx: ctx,
			stores: map[string]*storeState{}, scrub: pass}
		ended, err := c.scrubProvider(p)
		if err != nil {
			return false, fmt.Errorf("scrub provider %s: %w", p.ID, err)
		}
		pass.state.Ended[p.ID] = ended
		complete = complete && ended
		if err := pass.step(ctx, 0); err != nil {
			return false, err
		}
	}
	return complete, nil
}

// scrubProvider reads the objects of a provider from its position on. It reports false when the
// store is not available.
func (c *check) scrubProvider(p provider.Provider) (ended bool, err error) {
	store := c.openStore(p.ID, fmt.Sprintf("provider %s (%s)", p.ID, p.Name))
	state := c.scrub.state
	for store.err == nil {
		page, err := objectsOf(c.DB.Read(c.ctx), p.ID, state.Positions[p.ID], scrubPage)
		if err != nil {
			return false, err
		}
		last := len(page) < scrubPage
		if n := pageEnd(page); n < len(page) {
			page, last = page[:n], false
		}
		before := c.Bytes
		if err := c.scrubPage(p, page); err != nil {
			return false, err
		}
		if store.err != nil {
			break
		}
		if len(page) > 0 {
			state.Positions[p.ID] = string(page[len(page)-1].key)
		}
		state.Summary.count(page, c.Bytes-before)
		if err := c.scrub.step(c.ctx, c.Bytes-before); err != nil {
			return false, err
		}
		if last {
			return true, nil
		}
	}
	if c.ctx.Err() != nil {
		return false, c.ctx.Err()
	}
	c.Log.Warn("a scrub skips a store that is not available", "provider", p.ID, "error", store.err)
	return false, nil
}

// pageEnd returns how many of the objects belong to a page of scrubPageBytes, at least one.
func pageEnd(page []storedObject) int {
	var bytes int64
	for i, o := range page {
		if bytes += o.size; bytes >= scrubPageBytes {
			return i + 1
		}
	}
	return len(page)
}

// openStore opens and probes the store of a provider. Its error is in the result.
func (c *check) openStore(providerID, name string) *storeState {
	s := c.stores[providerID]
	if s == nil {
		s = &storeState{name: name}
		c.stores[providerID] = s
		if s.store, s.err = c.Providers.Store(c.ctx, providerID); s.err == nil {
			s.err = c.probe(s)
		}
	}
	return s
}

// scrubPage reads some objects of a provider, and deals with those that are damaged.
func (c *check) scrubPage(p provider.Provider, page []storedObject) error {
	var doubts []suspect
	unreadable := 0 // in a row
	for _, o := range page {
		d, err := c.compare(o)
		if err != nil || c.stores[p.ID].err != nil {
			return err
		}
		if unreadable++; d.kind != Unreadable {
			unreadable = 0
		}
		if unreadable == maxUnreadable {
			c.stores[p.ID].err = fmt.Errorf("%d objects in a row: %s", unreadable, d.text)
			return nil
		}
		c.pace().Spend(int(max(scrubObjectCost-o.size, 0)))
		if d.kind != "" {
			doubts = append(doubts, d)
		}
	}
	if len(doubts) == 0 {
		return nil
	}
	if err := c.wait(); err != nil {
		return err
	}
	for _, d := range doubts {
		if err := c.settle(p, d.id); err != nil {
			return err
		}
		if c.stores[p.ID].err != nil {
			return nil
		}
	}
	return nil
}

// settle reads the row of an apparently damaged object again and compares it once more, since it
// may have been deleted or moved meanwhile. If it is damaged, it is healed or marked.
func (c *check) settle(p provider.Provider, id string) error {
	o, err := objectRow(c.DB.Read(c.ctx), id)
	if errors.Is(err, db.ErrNoRows) || err == nil && o.provider != p.ID {
		return nil // it was moved, and verified by that
	}
	if err != nil {
		return err
	}
	if err := c.refreshStore(o.provider); err != nil {
		return err
	}
	again, err := c.compare(o)
	if err != nil || again.kind == "" {
		return err
	}
	if again.kind == Unreadable && p.Type != provider.BuiltIn {
		c.scrub.state.Summary.Unread++
		c.Log.Warn("a bucket does not give an object; the next pass reads it again", "provider", p.ID, "key", o.key)
		return nil
	}
	return c.healOrMark(o, again)
}

// healOrMark heals a damaged object from an intact copy, or else marks it.
func (c *check) healOrMark(o storedObject, damage suspect) error {
	healed, gone, err := c.heal(o)
	if err != nil || gone {
		return err
	}
	if !healed {
		var there bool
		err := c.DB.Write(c.ctx, func(tx *db.Tx) (err error) {
			there, err = object.MarkDamaged(tx, o.id, o.location(), c.Now().UnixMilli())
			return err
		})
		if err != nil || !there { // deleted or moved during the read
			return err
		}
		crash.Point("scrub.marked")
	}
	used, err := c.describeFiles(o.id)
	if err != nil {
		return err
	}
	var repaired func() error
	sum := &c.scrub.state.Summary
	sum.Findings++
	if healed {
		sum.Healed++
		repaired = func() error { return nil }
	}
	return c.addFinding(damage.kind, repaired, "%s; %s", damage.text, used)
}

// heal replaces the bytes of a damaged object by those of an intact copy, if there is one. gone
// says that the object was deleted or moved meanwhile.
func (c *check) heal(o storedObject) (healed, gone bool, err error) {
	if o.sha256 == "" {
		return false, false, nil // no copy could be verified
	}
	others, err := object.SameContent(c.DB.Read(c.ctx), o.id, o.sha256, o.size, maxSources)
	if err != nil {
		return false, false, err
	}
	for _, at := range others {
		source := c.openStore(at.Provider, "provider "+at.Provider)
		if source.err != nil {
			continue
		}
		if done, healed, err := c.healFrom(o, object.Copy{From: source.store, Key: at.Key}); done || err != nil {
			return healed, done && !healed, err
		}
	}
	return c.healFromBackup(o)
}

// healFromBackup is heal from the backup, if there is one. A backup that cannot be read has no
// copies.
func (c *check) healFromBackup(o storedObject) (healed, gone bool, err error) {
	if c.scrub.Backup == nil && c.scrub.openBackup != nil {
		if c.scrub.Backup, err = c.scrub.openBackup(c.ctx); err != nil {
			c.scrub.Backup = nil
			c.warnBackup(err)
			return false, false, c.ctx.Err()
		}
	}
	if c.scrub.Backup == nil {
		return false, false, nil
	}
	for copied, err := range c.scrub.Backup.Copies(c.ctx, o.record()) {
		if err != nil {
			c.warnBackup(err)
			continue
		}
		if done, healed, err := c.healFrom(o, copied); done || err != nil {
			return healed, done && !healed, err
		}
	}
	return false, false, c.ctx.Err()
}

func (c *check) warnBackup(err error) {
	c.Log.Warn("the backup from which damaged objects are healed can't be read", "error", err)
}

// healFrom is heal from one copy. done says that the copy is intact and was written.
func (c *check) healFrom(o storedObject, from object.Copy) (done, healed bool, err error) {
	healed, err = c.Tree.Heal(c.ctx, files.Healing{ObjectID: o.id, Record: o.record(), Copy: from, Pace: c.pace()})
	if err == nil {
		return true, healed, nil
	}
	if c.ctx.Err() != nil {
		return false, false, err
	}
	if !errors.Is(err, files.ErrSourceDiffers) {
		c.Log.Warn("a damaged object could not be healed", "provider", o.provider, "key", o.key, "error", err)
	}
	return false, false, nil
}

// countUnread adds to the summary the objects that the pass has not read, because their provider
// was not available.
func (s *Service) countUnread(ctx context.Context, state *scrubState) error {
	list, err := s.scrubbed(ctx)
	if err != nil {
		return err
	}
	for _, p := range list {
		if state.Ended[p.ID] {
			continue
		}
		left, err := countAfter(s.DB.Read(ctx), p.ID, state.Positions[p.ID])
		if err != nil {
			return err
		}
		state.Summary.Unread += left
	}
	return nil
}

// scrubEvery is the time from the beginning of a pass to that of the next one.
const scrubEvery = 90 * 24 * time.Hour

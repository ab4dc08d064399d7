package s3

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/blob/s3/s3test"
)

// The outcomes of an operation with a fault.
const (
	ok = "ok" // it succeeded, and the state is as expected
	no = "no" // blob.ErrUnavailable, without any visible change
)

// once is the outcome of each operation when one of its calls has a fault, in the order of
// s3test.Faults: refused, reset, slow, timed out, 500, 503, 200 error, skewed, no upload, 404 at
// HEAD, truncated, wrong tag.
//
// An operation that creates something succeeds if the server carried out the call, and is never
// repeated; after a lost answer the client sends the part again. Calls that read or delete are
// repeated, but not when they were too slow or the server's answer is final (403, 404).
var once = map[s3test.Operation]string{
	s3test.Put:      "no no no ok no no no no ok ok ok ok",
	s3test.Part:     "no no no no no no no no no ok no ok",
	s3test.Complete: "no no no ok no no no no ok ok ok ok",
	s3test.Get:      "ok ok no ok ok ok no no no ok ok ok",
	s3test.Head:     "ok ok no ok ok ok no no ok ok ok ok",
	s3test.Copy:     "no ok ok ok no no no no ok ok ok ok",
	s3test.Delete:   "ok ok no ok ok ok ok no no ok ok ok",
}

// always is the outcome when every call of the operation has the fault. A GET decides after a 404
// to HEAD.
var always = map[s3test.Operation]string{
	s3test.Put:      once[s3test.Put],
	s3test.Part:     once[s3test.Part],
	s3test.Complete: once[s3test.Complete],
	s3test.Get:      "no no no no no no no no no ok no ok",
	s3test.Head:     "no no no no no no no no ok ok no ok",
	s3test.Copy:     once[s3test.Copy],
	s3test.Delete:   "no no no no no no no no no ok no ok",
}

// shortLimits are for calls that exceed them intentionally. Calls without a fault must keep them,
// also on a busy machine.
var shortLimits = Limits{Stall: 3 * time.Second, Answer: 5 * time.Second, Assembly: 5 * time.Second,
	RetryPause: time.Millisecond}

func TestEveryFaultOfEveryOperation(t *testing.T) {
	t.Parallel()
	for times, table := range map[int]map[s3test.Operation]string{1: once, s3test.Always: always} {
		for _, op := range s3test.Operations {
			for i, want := range strings.Fields(table[op]) {
				fault := s3test.Faults[i]
				name := string(op) + "/" + string(fault)
				if times == s3test.Always {
					name += "/always"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					limits := Limits{RetryPause: time.Millisecond}
					if fault == s3test.Slow {
						limits = shortLimits
					}
					newFaultCase(t, limits).tryFault(op, fault, times, want)
				})
			}
		}
	}
}

// The wait for a server that has carried out the call and never answers ends with the limits.
func TestServerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	for op, want := range map[s3test.Operation]string{
		s3test.Put: ok, s3test.Part: no, s3test.Complete: ok, s3test.Get: no, s3test.Head: no, s3test.Copy: ok,
		s3test.Delete: no,
	} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			c := newFaultCase(t, shortLimits)
			c.proxy.HoldTime = -1
			c.tryFault(op, s3test.TimedOut, 1, want)
		})
	}
}

// faultCase is a store behind a proxy that injects faults, and the same store without the proxy.
type faultCase struct {
	*testing.T
	proxy          *s3test.Proxy
	store, healthy *Store
	opts           Options
	key, source    blob.Key
	upload         blob.Upload
}

func newFaultCase(t *testing.T, limits Limits) *faultCase {
	b := s3test.New(t)
	proxy := s3test.NewProxy(t, b)
	opts := Options{
		Endpoint: b.Endpoint, Bucket: b.Name, AccessKey: b.AccessKey, SecretKey: b.SecretKey, PathStyle: true,
		PartSize: minPart, IDs: ids,
		Egress: s3test.Egress(),
	}
	spoilt := opts
	spoilt.Endpoint, spoilt.Limits = proxy.Endpoint, limits
	c := &faultCase{T: t, proxy: proxy, store: open(t, spoilt), healthy: open(t, opts), opts: opts,
		key:    blobtest.NewKey(),
		source: blobtest.NewKey()}
	if err := put(t, c.healthy, c.source); err != nil {
		t.Fatal(err)
	}
	return c
}

// put stores small at key.
func put(t *testing.T, s *Store, key blob.Key) error {
	t.Helper()
	info, err := s.Put(t.Context(), key, strings.NewReader(small), blob.PutOptions{Size: int64(len(small))})
	if err == nil && (info.Size != int64(len(small)) || info.ETag != smallTag) {
		t.Errorf("Put = %+v", info)
	}
	return err
}

// runOperation runs an operation and checks its result. err is the error of the store.
func (c *faultCase) runOperation(op s3test.Operation) (err error) {
	c.Helper()
	switch op {
	case s3test.Put:
		return put(c.T, c.store, c.key)
	case s3test.Part:
		var part blob.Part
		part, err = c.store.PutPart(c.Context(), c.upload, 1, strings.NewReader(small))
		if err == nil && (part.ETag != smallTag || part.Size != int64(len(small))) {
			c.Errorf("PutPart = %+v", part)
		}
	case s3test.Complete:
		var info blob.Info
		info, err = blobtest.FinishListed(c.Context(), c.store, c.upload)
		if err == nil && info.Size != int64(len(small)) {
			c.Errorf("Finish = %+v", info)
		}
	case s3test.Get:
		var o blob.Object
		if o, err = c.store.Open(c.Context(), c.source); err != nil {
			return err
		}
		defer o.Close()
		var got bytes.Buffer
		_, err = got.ReadFrom(o)
		if !strings.HasPrefix(small, got.String()) || err == nil && got.String() != small {
			c.Errorf("read %q", got.String())
		}
	case s3test.Head:
		var info blob.Info
		info, err = c.store.Stat(c.Context(), c.source)
		if err == nil && info.Size != int64(len(small)) {
			c.Errorf("Stat = %+v", info)
		}
	case s3test.Copy:
		var info blob.Info
		info, err = c.store.CopyFrom(c.Context(), c.key, c.store, c.source, "", smallTag)
		if err == nil && (info.Size != int64(len(small)) || info.ETag != smallTag) {
			c.Errorf("CopyFrom = %+v", info)
		}
	case s3test.Delete:
		err = c.store.Delete(c.Context(), c.source)
	}
	return err
}

// tryFault runs an operation under a fault, checks the outcome, removes the fault and runs the
// operation again.
func (c *faultCase) tryFault(op s3test.Operation, fault s3test.Fault, times int, want string) {
	if op == s3test.Part || op == s3test.Complete {
		var err error
		if c.upload, err = c.healthy.Begin(c.Context(), c.key, int64(len(small)), minPart, ""); err != nil {
			c.Fatal(err)
		}
	}
	if op == s3test.Complete {
		if _, err := c.healthy.PutPart(c.Context(), c.upload, 1, strings.NewReader(small)); err != nil {
			c.Fatal(err)
		}
	}
	c.proxy.InjectFault(fault, op, times)
	err := c.runOperation(op)
	if c.proxy.Injected() == 0 {
		c.Errorf("no fault was injected; calls: %q", c.proxy.Calls())
	}
	if want == ok && err != nil || want == no &&
		(!errors.Is(err, blob.ErrUnavailable) || errors.Is(err, blob.ErrNotFound) || errors.Is(err, context.Canceled)) {
		c.Errorf("%v, want %s; calls: %q", err, want, c.proxy.Calls())
	}
	makes := op == s3test.Put || op == s3test.Complete || op == s3test.Copy
	if makes && err == nil {
		c.content(c.key)
	} else if op != s3test.Get && op != s3test.Head && op != s3test.Delete {
		blobtest.WantAbsent(c.T, c.healthy, c.key)
	}
	c.proxy.Restore()
	again := c.runOperation(op)
	if once := makes && err == nil && op != s3test.Complete; once != errors.Is(again, blob.ErrExists) || !once &&
		again != nil {
		c.Errorf("healed: %v", again)
	}
	if op == s3test.Part {
		if _, err := blobtest.FinishListed(c.Context(), c.store, c.upload); err != nil {
			c.Error(err)
		}
	}
	if makes || op == s3test.Part {
		c.content(c.key)
	}
	if op == s3test.Delete {
		blobtest.WantAbsent(c.T, c.healthy, c.source)
	} else {
		c.content(c.source)
	}
	noUploads(c.T, c.opts)
}

func (c *faultCase) content(key blob.Key) {
	c.Helper()
	if got := string(blobtest.Content(c.T, c.healthy, key)); got != small {
		c.Errorf("the object is %q", got)
	}
}

// smallTag is the ETag of small on a server whose ETags are MD5s.
const smallTag = `"b6579723102f9c0a77d5069aafd0c000"`

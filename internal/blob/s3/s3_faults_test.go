package s3

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/blob/s3/s3test"
)

// roundTrip is an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// faultTransport forwards calls to the real server and injects faults.
type faultTransport struct {
	inner http.RoundTripper

	mu      sync.Mutex
	planned []plannedFault // faults that have not occurred yet
	calls   []string
}

// plannedFault is the fault of the next call with that name.
type plannedFault struct {
	call string // as callName returns it
	do   faultFunc
}

// faultFunc replaces a call; send sends it to the server.
type faultFunc func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)

// callName returns the name of a call: its method and the parts of its query that identify it.
func callName(r *http.Request) string {
	q := r.URL.Query()
	switch {
	case q.Has("uploads"):
		return r.Method + " uploads"
	case q.Has("list-type"):
		return r.Method + " list"
	case q.Has("partNumber"):
		return r.Method + " part"
	case q.Has("uploadId"):
		return r.Method + " upload"
	}
	return r.Method
}

func (ft *faultTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	name := callName(r)
	ft.mu.Lock()
	ft.calls = append(ft.calls, name)
	var do faultFunc
	if i := slices.IndexFunc(ft.planned, func(s plannedFault) bool { return s.call == name }); i >= 0 {
		do = ft.planned[i].do
		ft.planned = slices.Delete(ft.planned, i, i+1)
	}
	ft.mu.Unlock()
	send := func() (*http.Response, error) { return ft.inner.RoundTrip(r) }
	if do == nil {
		return send()
	}
	return do(r, send)
}

func (ft *faultTransport) inject(call string, faults ...faultFunc) {
	ft.mu.Lock()
	defer ft.mu.Unlock()
	for _, do := range faults {
		ft.planned = append(ft.planned, plannedFault{call, do})
	}
}

// clear removes the planned faults.
func (ft *faultTransport) clear() {
	ft.mu.Lock()
	defer ft.mu.Unlock()
	ft.planned = nil
}

// wantNoPending fails the test when a planned fault has not occurred.
func (ft *faultTransport) wantNoPending(t *testing.T) {
	t.Helper()
	ft.mu.Lock()
	defer ft.mu.Unlock()
	if len(ft.planned) > 0 {
		t.Errorf("%q was not called; calls: %q", ft.planned[0].call, ft.calls)
	}
}

// newFaultyStore returns a store in a new bucket and its transport.
func newFaultyStore(t *testing.T) (*Store, *faultTransport, Options) {
	t.Helper()
	opts := newBucket(t)
	client := s3test.Egress().Client()
	p := &faultTransport{inner: client.Transport}
	client.Transport = p
	opts.Client = client
	s := open(t, opts)
	t.Cleanup(func() {
		p.inner.(*http.Transport).CloseIdleConnections()
		p.wantNoPending(t)
	})
	return s, p, opts
}

var errTimeout = errors.New("timeout awaiting response headers")

// loseAnswer sends the call to the server and loses the answer.
func loseAnswer(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	resp, err := send()
	if err != nil {
		return nil, err
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return nil, errTimeout
}

// loseRequest loses the call before it reaches the server.
func loseRequest(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
	if r.Body != nil {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	return nil, errTimeout
}

// answerWith answers instead of the server, with an error document if code is not empty.
func answerWith(status int, code string) func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
	return func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		if r.Body != nil {
			io.Copy(io.Discard, r.Body)
			r.Body.Close()
		}
		document := ""
		if code != "" {
			document = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>` + code +
				`</Code><Message>no</Message></Error>`
		}
		return &http.Response{
			Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/xml"}}, ContentLength: int64(len(document)),
			Body: io.NopCloser(strings.NewReader(document)), Request: r,
		}, nil
	}
}

const small = "a body that fits into one part"

func TestPutWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdef", minPart/16) + "more"
	for name, c := range map[string]struct {
		call, body string
		fault      faultFunc
		want       error // nil: stored
	}{
		"small, server had it":         {"PUT", small, loseAnswer, nil},
		"small, server did not":        {"PUT", small, loseRequest, blob.ErrUnavailable},
		"small, 500":                   {"PUT", small, answerWith(500, "InternalError"), blob.ErrUnavailable},
		"small, 503":                   {"PUT", small, answerWith(503, "SlowDown"), blob.ErrUnavailable},
		"small, 404 of a proxy":        {"PUT", small, answerWith(404, ""), blob.ErrUnavailable},
		"small, redirect":              {"PUT", small, answerWith(307, "TemporaryRedirect"), blob.ErrUnavailable},
		"small, bucket is full":        {"PUT", small, answerWith(403, "QuotaExceeded"), blob.ErrNoSpace},
		"small, disk is full":          {"PUT", small, answerWith(507, ""), blob.ErrNoSpace},
		"long, request of a part lost": {"PUT part", long, loseRequest, nil},
		"long, part was kept":          {"PUT part", long, loseAnswer, nil},
		"long, 400 at a part":          {"PUT part", long, answerWith(400, "BadDigest"), blob.ErrUnavailable},
		"long, completed":              {"POST upload", long, loseAnswer, nil},
		"long, not completed":          {"POST upload", long, loseRequest, blob.ErrUnavailable},
		"long, 200 with an error": {"POST upload", long, answerWith(200, "InternalError"),
			blob.ErrUnavailable},
		"long, NoSuchUpload once completed":  {"POST upload", long, twice("NoSuchUpload"), nil},
		"long, request to begin lost":        {"POST uploads", long, loseRequest, blob.ErrUnavailable},
		"long, 412 though it was completed":  {"POST upload", long, twice("PreconditionFailed"), nil},
		"small, 412 though it was completed": {"PUT", small, twice("PreconditionFailed"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p, opts := newFaultyStore(t)
			p.inject(c.call, c.fault)
			key := blobtest.NewKey()
			info, err := s.Put(t.Context(), key, strings.NewReader(c.body), blob.PutOptions{Size: -1, Max: -1})
			if c.want == nil {
				if err != nil || info.Size != int64(len(c.body)) || len(info.SHA256) != 32 {
					t.Fatalf("Put = %+v, %v", info, err)
				}
				if got := string(blobtest.Content(t, s, key)); got != c.body {
					t.Errorf("the object has %d bytes of %d, or others", len(got), len(c.body))
				}
			} else {
				if !errors.Is(err, c.want) || errors.Is(err, blob.ErrNotFound) {
					t.Errorf("Put = %v, want %v", err, c.want)
				}
				blobtest.WantAbsent(t, s, key)
			}
			noUploads(t, opts)
		})
	}
}

// A part in memory is sent again from its beginning. A part streamed from a client is not
// (TestPutPartWhoseAnswerIsLost).
func TestPutSendsPartsAgain(t *testing.T) {
	t.Parallel()
	// in the middle of the body
	reset := func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		io.CopyN(io.Discard, r.Body, 1<<20)
		r.Body.Close()
		return nil, &net.OpError{Op: "write", Net: "tcp", Err: syscall.ECONNRESET}
	}
	pass := func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) { return send() }
	s, p, opts := newFaultyStore(t)
	body, key := []byte(strings.Repeat("0123456789abcdef", minPart/8)+"more"), blobtest.NewKey()
	p.inject("PUT part", answerWith(503, "SlowDown"), pass, reset)
	info, err := s.Put(t.Context(), key, bytes.NewReader(body), blob.PutOptions{Size: int64(len(body))})
	if err != nil || info.Size != int64(len(body)) {
		t.Fatalf("Put = %+v, %v; calls: %q", info, err, p.calls)
	}
	if !bytes.Equal(blobtest.Content(t, s, key), body) {
		t.Error("the object has other bytes")
	}
	p.inject("PUT part", slices.Repeat([]faultFunc{answerWith(503, "SlowDown")}, maxAttempts)...)
	key = blobtest.NewKey()
	if _, err := s.Put(t.Context(), key, bytes.NewReader(body), blob.PutOptions{Size: -1, Max: -1}); !errors.Is(err,
		blob.ErrUnavailable) {
		t.Errorf("Put whose part fails %d times = %v, want ErrUnavailable", maxAttempts, err)
	}
	blobtest.WantAbsent(t, s, key)
	noUploads(t, opts)
}

// twice sends the call to the server and then answers with an error, as when an intermediary
// repeats the request.
func twice(code string) func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
	status := map[string]int{"NoSuchUpload": 404, "PreconditionFailed": 412}[code]
	return func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if _, err := loseAnswer(r, send); err != errTimeout {
			return nil, err
		}
		return answerWith(status, code)(&http.Request{Method: r.Method, URL: r.URL}, nil)
	}
}

func TestPutNeverTakesAnothersObjectForItsOwn(t *testing.T) {
	t.Parallel()
	s, p, _ := newFaultyStore(t)
	key := blobtest.NewKey()
	if _, err := s.Put(t.Context(), key, strings.NewReader(small), blob.PutOptions{Size: -1, Max: -1}); err != nil {
		t.Fatal(err)
	}
	p.inject("PUT", loseRequest)
	if _, err := s.Put(t.Context(), key, strings.NewReader(small), blob.PutOptions{Size: -1, Max: -1}); !errors.Is(err,
		blob.ErrExists) {
		t.Errorf("Put of the same bytes over another object, answer lost = %v, want ErrExists", err)
	}
}

func TestServerWithoutConditionsIsAskedFirst(t *testing.T) {
	t.Parallel()
	s, p, _ := newFaultyStore(t)
	p.inject("PUT", answerWith(501, "NotImplemented"))
	key := blobtest.NewKey()
	if _, err := s.Put(t.Context(), key, strings.NewReader(small), blob.PutOptions{Size: -1, Max: -1}); err != nil {
		t.Fatalf("Put = %v", err)
	}
	if _, err := s.Put(t.Context(), key, strings.NewReader("other"),
		blob.PutOptions{Size: -1, Max: -1}); !errors.Is(err, blob.ErrExists) {
		t.Errorf("second Put = %v, want ErrExists", err)
	}
	if got := string(blobtest.Content(t, s, key)); got != small {
		t.Errorf("the object is now %q", got)
	}
}

func TestFinishWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call  string
		fault faultFunc
		want  error // nil: finished
		times int   // 0 means once
	}{
		"completed":                   {"POST upload", loseAnswer, nil, 0},
		"not completed":               {"POST upload", loseRequest, blob.ErrUnavailable, 0},
		"200 with an error":           {"POST upload", answerWith(200, "InternalError"), blob.ErrUnavailable, 0},
		"500":                         {"POST upload", answerWith(500, "InternalError"), blob.ErrUnavailable, 0},
		"503":                         {"POST upload", answerWith(503, "SlowDown"), blob.ErrUnavailable, 0},
		"NoSuchUpload once completed": {"POST upload", twice("NoSuchUpload"), nil, 0},
		"412 once completed":          {"POST upload", twice("PreconditionFailed"), nil, 0},
		"404 of a proxy":              {"POST upload", answerWith(404, ""), blob.ErrUnavailable, 0},
		"list of parts: 404 of proxy": {"GET upload", answerWith(404, ""), blob.ErrUnavailable, 0},
		"list of parts: no bucket":    {"GET upload", answerWith(404, "NoSuchBucket"), blob.ErrUnavailable, 0},
		"list of parts: 503":          {"GET upload", answerWith(503, "SlowDown"), blob.ErrUnavailable, maxAttempts},
		"part replaced meanwhile":     {"POST upload", answerWith(400, "InvalidPart"), blob.ErrPart, 0},
		"HEAD says 404 too early":     {"HEAD", answerWith(404, ""), nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p, opts := newFaultyStore(t)
			u, err := s.Begin(t.Context(), blobtest.NewKey(), int64(len(small)), minPart, "")
			if err != nil {
				t.Fatal(err)
			}
			part, err := s.PutPart(t.Context(), u, 1, strings.NewReader(small))
			if err != nil {
				t.Fatal(err)
			}
			p.inject(c.call, slices.Repeat([]faultFunc{c.fault}, max(1, c.times))...)
			if _, err := s.Finish(t.Context(), u, []blob.Part{part}); !errors.Is(err, c.want) ||
				errors.Is(err, blob.ErrNotFound) {
				t.Errorf("Finish = %v, want %v", err, c.want)
			}
			for range 2 {
				if info, err := s.Finish(t.Context(), u, []blob.Part{part}); err != nil || info.Size != u.Size {
					t.Errorf("Finish again = %+v, %v", info, err)
				}
			}
			if got := string(blobtest.Content(t, s, u.Key)); got != small {
				t.Errorf("the object is %q", got)
			}
			noUploads(t, opts)
		})
	}
}

func TestPutPartWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	s, p, _ := newFaultyStore(t)
	u, err := s.Begin(t.Context(), blobtest.NewKey(), minPart, minPart, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range []faultFunc{
		loseAnswer, loseRequest, answerWith(500, "InternalError"), answerWith(503, "SlowDown"), answerWith(404, ""),
		answerWith(404, "NoSuchBucket"),
	} {
		p.inject("PUT part", fault)
		if _, err := s.PutPart(t.Context(), u, 1, io.LimitReader(zeros{}, minPart)); !errors.Is(err,
			blob.ErrUnavailable) || errors.Is(err, blob.ErrNotFound) {
			t.Errorf("PutPart = %v, want ErrUnavailable", err)
		}
	}
	// without reading the body
	early := func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		r.Body.Close()
		return answerWith(403, "AccessDenied")(&http.Request{Method: r.Method, URL: r.URL}, nil)
	}
	p.inject("PUT part", early)
	if _, err := s.PutPart(t.Context(), u, 1, io.LimitReader(zeros{}, minPart)); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("PutPart that is answered early = %v, want ErrUnavailable", err)
	}
	part, err := s.PutPart(t.Context(), u, 1, io.LimitReader(zeros{}, minPart))
	if err != nil {
		t.Fatal(err)
	}
	if parts, err := s.Parts(t.Context(), u); err != nil || !slices.Equal(parts, []blob.Part{part}) {
		t.Errorf("Parts = %v, %v", parts, err)
	}
	p.inject("DELETE upload", loseAnswer, loseRequest, loseRequest)
	if err := s.Abort(t.Context(), u); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Abort whose answer is lost = %v, want ErrUnavailable", err)
	}
	p.inject("DELETE upload", func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		return answerWith(204, "")(r, send) // some servers answer this way for an absent object
	})
	if err := s.Abort(t.Context(), u); err != nil {
		t.Errorf("Abort of a finished upload = %v", err)
	}
}

func TestAbortGoesOnUntilNoPartIsListed(t *testing.T) {
	t.Parallel()
	s, p, opts := newFaultyStore(t)
	u, err := s.Begin(t.Context(), blobtest.NewKey(), 3, 3, "")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // the server reports success and does nothing, as when a part arrives after the abort
		p.inject("DELETE upload", answerWith(204, ""))
	}
	if err := s.Abort(t.Context(), u); err != nil {
		t.Errorf("Abort = %v", err)
	}
	noUploads(t, opts)

	if u, err = s.Begin(t.Context(), u.Key, 3, 3, ""); err != nil {
		t.Fatal(err)
	}
	for range abortTries {
		p.inject("DELETE upload", answerWith(204, ""))
	}
	if err := s.Abort(t.Context(), u); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Abort that never works = %v, want ErrUnavailable", err)
	}
	if err := s.Abort(t.Context(), u); err != nil {
		t.Error(err)
	}
}

func TestStatAndOpenDuringFaults(t *testing.T) {
	t.Parallel()
	s, p, _ := newFaultyStore(t)
	key := blobtest.NewKey()
	if _, err := s.Put(t.Context(), key, strings.NewReader(small), blob.PutOptions{Size: -1, Max: -1}); err != nil {
		t.Fatal(err)
	}
	p.inject("HEAD", answerWith(404, "")) // the GET that follows answers 200
	if info, err := s.Stat(t.Context(), key); err != nil || info.Size != int64(len(small)) {
		t.Errorf("Stat when HEAD says 404 and GET 200 = %+v, %v", info, err)
	}
	for i, fault := range []faultFunc{
		// these are retried
		loseRequest, answerWith(500, "InternalError"), answerWith(502, ""), answerWith(503, "SlowDown"),
		answerWith(504, ""),
		answerWith(404, ""), answerWith(404, "NoSuchBucket"), answerWith(403, "AccessDenied"),
		answerWith(403, "RequestTimeTooSkewed"),
		answerWith(302, ""), answerWith(400, ""),
	} {
		times := []faultFunc{fault}
		if i < 5 {
			times = slices.Repeat(times, maxAttempts)
		}
		p.inject("HEAD", answerWith(404, ""))
		p.inject("GET", times...)
		if _, err := s.Stat(t.Context(), key); !errors.Is(err, blob.ErrUnavailable) ||
			errors.Is(err, blob.ErrNotFound) {
			t.Errorf("Stat = %v, want ErrUnavailable", err)
		}
		p.inject("GET", times...)
		if _, err := s.Open(t.Context(), key); !errors.Is(err, blob.ErrUnavailable) ||
			errors.Is(err, blob.ErrNotFound) {
			t.Errorf("Open = %v, want ErrUnavailable", err)
		}
	}
	p.inject("DELETE", answerWith(503, "SlowDown"), answerWith(500, "InternalError"), answerWith(504, ""))
	if err := s.Delete(t.Context(), key); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("Delete = %v, want ErrUnavailable", err)
	}
	if got := blobtest.Content(t, s, key); !bytes.Equal(got, []byte(small)) {
		t.Errorf("the object is %q", got)
	}
}

// No call follows a redirect, which would carry the credentials to another host.
func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		opts := newBucket(t)
		opts.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if "http://"+r.URL.Host != opts.Endpoint {
				t.Errorf("%d: %s went to %s", status, r.Method, r.URL.Host)
			}
			resp, err := answerWith(status, "")(r, nil)
			resp.Header.Set("Location", "http://elsewhere.example.com"+r.URL.Path)
			return resp, err
		})}
		s := open(t, opts)
		faults(t, s)
		if _, err := s.CopyFrom(t.Context(), blobtest.NewKey(), s, blobtest.NewKey(), "", ""); !errors.Is(err,
			blob.ErrUnavailable) {
			t.Errorf("%d: CopyFrom = %v, want ErrUnavailable", status, err)
		}
		if err := s.Walk(t.Context(), nil); !errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("%d: Walk = %v, want ErrUnavailable", status, err)
		}
		if _, err := s.Sweep(t.Context(), time.Now()); !errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("%d: Sweep = %v, want ErrUnavailable", status, err)
		}
	}
}

package s3

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slowServer receives and sends bodies in steps. It runs in a bubble of synctest, where waiting
// takes no real time.
type slowServer struct {
	step   int           // bytes per step
	every  time.Duration // between two steps
	asked  time.Duration // until the head of the answer
	length int           // bytes of the answer
}

func (s slowServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		p := make([]byte, s.step)
		for {
			n, err := io.ReadFull(r.Body, p)
			if n > 0 && sleep(r.Context(), s.every) != nil {
				return nil, r.Context().Err()
			}
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				break
			}
		}
	}
	if err := sleep(r.Context(), s.asked); err != nil {
		return nil, err
	}
	body := &steps{step: s.step, left: s.length, wait: func() error { return sleep(r.Context(), s.every) }}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, Request: r}, nil
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// steps is a body that arrives in steps.
type steps struct {
	step, left int
	wait       func() error
}

func (s *steps) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	if err := s.wait(); err != nil {
		return 0, err
	}
	n := min(s.step, s.left, len(p))
	s.left -= n
	return n, nil
}

func (*steps) Close() error { return nil }

func TestLimitsOfTime(t *testing.T) {
	t.Parallel()
	get := func() *http.Request { return request("GET", "/b/k", nil) }
	upload := func(body io.Reader) *http.Request { return request("PUT", "/b/k", body) }
	zeros := func(n int) io.Reader { return &steps{step: 32 << 10, left: n, wait: func() error { return nil }} }
	for name, c := range map[string]struct {
		request *http.Request
		server  slowServer
		read    time.Duration // wait of the client before each read of the answer
		slow    bool
	}{
		"answer within a minute":          {get(), slowServer{asked: 59 * time.Second}, 0, false},
		"answer after more than a minute": {get(), slowServer{asked: 62 * time.Second}, 0, true},
		"completion within 15 minutes": {request("POST", "/b/k?uploadId=1", zeros(100)),
			slowServer{step: 1000, asked: 14 * time.Minute}, 0, false},
		"completion after 15 minutes": {request("POST", "/b/k?uploadId=1", zeros(100)),
			slowServer{step: 1000, asked: 16 * time.Minute}, 0, true},
		"completion that drips on": {request("POST", "/b/k?uploadId=1", zeros(100)),
			slowServer{step: 1, every: time.Second, length: 1000}, 0, true},
		"copy within 15 minutes": {copyRequest(), slowServer{asked: 14 * time.Minute}, 0, false},
		"copy after 15 minutes":  {copyRequest(), slowServer{asked: 16 * time.Minute}, 0, true},
		"beginning after more than a minute": {request("POST", "/b/k?uploads", nil),
			slowServer{asked: 62 * time.Second}, 0, true},

		"takes a byte a second": {upload(zeros(100_000)), slowServer{step: 1, every: time.Second}, 0, true},
		"takes nothing for 29 seconds": {upload(zeros(100 << 10)), slowServer{step: 50 << 10, every: 29 * time.Second},
			0, false},
		"takes nothing for 33 seconds": {upload(zeros(100 << 10)), slowServer{step: 50 << 10, every: 33 * time.Second},
			0, true},
		"takes 1.1 KiB a second": {upload(zeros(1 << 20)), slowServer{step: 11 << 10, every: 10 * time.Second},
			0, false},
		"takes 0.9 KiB a second": {upload(zeros(1 << 20)), slowServer{step: 9 << 10, every: 10 * time.Second}, 0,
			true},
		"took 1 MiB at once, then none": {upload(zeros(2 << 20)), slowServer{step: 1 << 20, every: 33 * time.Second}, 0,
			true},
		"sender takes an hour": {upload(&steps{step: 1, left: 60, wait: minuteLimit}), slowServer{step: 1}, 0,
			false},

		"gives a byte a second": {get(), slowServer{step: 1, every: time.Second, length: 100_000}, 0, true},
		"gives nothing for 29 seconds": {get(), slowServer{step: 50 << 10, every: 29 * time.Second, length: 500 << 10},
			0, false},
		"gives nothing for 33 seconds": {get(), slowServer{step: 50 << 10, every: 33 * time.Second, length: 500 << 10},
			0, true},
		"gives 1.1 KiB a second": {get(), slowServer{step: 11 << 10, every: 10 * time.Second, length: 1 << 20}, 0,
			false},
		"gives 0.9 KiB a second": {get(), slowServer{step: 9 << 10, every: 10 * time.Second, length: 1 << 20}, 0,
			true},
		"reader takes an hour": {get(), slowServer{step: 1 << 10, length: 60 << 10}, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				inner := &limitedTransport{c.server, Limits{}.withDefaults()}
				resp, err := inner.RoundTrip(c.request.WithContext(t.Context()))
				for err == nil {
					_ = sleep(t.Context(), c.read)
					_, err = resp.Body.Read(make([]byte, 64<<10))
				}
				if resp != nil {
					resp.Body.Close()
				}
				if c.slow != errors.Is(err, errTooSlow) || !c.slow && err != io.EOF {
					t.Errorf("%v, want slow: %t", err, c.slow)
				}
			})
		})
	}
}

func minuteLimit() error { return sleep(context.Background(), time.Minute) }

func request(method, target string, body io.Reader) *http.Request {
	r, err := http.NewRequest(method, "http://s3.test"+target, body)
	if err != nil {
		panic(err)
	}
	return r
}

func copyRequest() *http.Request {
	r := request("PUT", "/b/k", nil)
	r.Header.Set("X-Amz-Copy-Source", "b/k")
	return r
}

// A cancelled call is not reported as errTooSlow.
func TestCancelledIsNotSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := (&limitedTransport{slowServer{asked: time.Hour}, Limits{}.withDefaults()}).
			RoundTrip(request("GET", "/b/k", nil).WithContext(ctx))
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errTooSlow) {
			t.Errorf("%v", err)
		}
	})
}

func TestErrorDocumentIsNoSuccess(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]bool{
		`<?xml version="1.0"?>` + "\n  <Error><Code>InternalError</Code></Error>": true,
		"   \n<Error/>": true,
		`<Error xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Code>x</Code></Error>`: true,
		"": false, "Error": false, "<Errors/>": false, "<CopyObjectResult><Error/></CopyObjectResult>": false,
		"\x00\xff": false,
	} {
		resp := &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(document))}
		if err := readWholeAnswer(resp); err != nil {
			t.Fatal(err)
		}
		if content, _ := io.ReadAll(resp.Body); string(content) != document || want != (resp.StatusCode == 500) {
			t.Errorf("%q: status %d, %q", document, resp.StatusCode, content)
		}
	}
}

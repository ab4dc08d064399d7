package s3test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Operation is a kind of S3 call. Operations lists those on objects.
type Operation string

// The kinds of calls.
const (
	Put      Operation = "put"
	Part     Operation = "part"
	Complete Operation = "complete"
	Get      Operation = "get"
	Head     Operation = "head"
	Copy     Operation = "copy" // of a whole object or of a part
	Delete   Operation = "delete"

	Begin Operation = "begin" // an upload in parts
	Abort Operation = "abort"
	List  Operation = "list" // objects, uploads or parts
	Other Operation = "other"
	Any   Operation = "" // for InjectFault: any kind of call
)

// Operations are the calls for which every fault is tested.
var Operations = []Operation{Put, Part, Complete, Get, Head, Copy, Delete}

// Fault is an injected failure of a call.
type Fault string

// The faults. Unless the comment says that the server carries out the call, the server receives
// nothing of it, or only half of its body.
const (
	Refused Fault = "refused" // the connection is reset at once; Down refuses new connections instead
	// the connection is reset in the middle of the request's body, or of the answer's when
	// the request has none
	Reset Fault = "reset"
	// one byte every ByteInterval, of the request's body, or of the answer's when
	// the request has none
	Slow         Fault = "slow"
	TimedOut     Fault = "timed out" // the server carries out the call, and the answer is withheld for HoldTime
	Internal     Fault = "500"       //
	SlowDown     Fault = "503"       //
	ErrorIn200   Fault = "200 error" // status 200 with an error document in the body
	Skewed       Fault = "skewed"    // 403 RequestTimeTooSkewed
	NoSuchUpload Fault = "no upload" // the server carries out the call, and the client receives 404 NoSuchUpload
	// the server carries out the call, and the next HEAD returns 404; a faulty HEAD returns 404
	// itself
	NotFoundAtHead Fault = "404 at HEAD"
	// the server carries out the call, and the answer ends half-way through its body, or through
	// its head when it has no body, with a clean close
	Truncated Fault = "truncated"
	// the server carries out the call, and every ETag in the answer is replaced by another
	WrongTag Fault = "wrong tag"
)

// Faults lists all faults.
var Faults = []Fault{Refused, Reset, Slow, TimedOut, Internal, SlowDown, ErrorIn200, Skewed, NoSuchUpload,
	NotFoundAtHead,
	Truncated, WrongTag}

// Always makes InjectFault affect every call until Restore.
const Always = -1

// Proxy forwards calls to the server of a bucket from its own loopback address, injects faults, and
// calls the test's hooks. It forwards the Host header unchanged, so that signatures for its address
// stay valid, including pre-signed addresses. Without an injected fault or a hook it changes
// nothing. It is safe for concurrent use.
type Proxy struct {
	Endpoint     string        // http://127.0.0.1:port
	ByteInterval time.Duration // between two bytes of a slow body, 1 s by default; set it before the first call
	// how long TimedOut withholds the answer: 0 for no time, negative until the client disconnects
	// or Restore; set it before the first call
	HoldTime time.Duration

	bucket    Bucket
	backend   *url.URL
	transport *http.Transport

	mu       sync.Mutex
	server   *http.Server // nil while it is down
	listener net.Listener // of server
	released chan struct{}
	pending  []pendingFault
	before   func(w http.ResponseWriter, r *http.Request) (answered bool)
	after    func(answer *http.Response)
	calls    []Operation
	sent     int64 // bytes in the bodies of calls
	injected int

	forwarding sync.RWMutex // held for reading during each call that is forwarded without an injected failure
}

// pendingFault is an injected failure that has calls left to affect.
type pendingFault struct {
	fault Fault
	op    Operation
	times int // remaining calls, negative for all
}

// NewProxy starts a proxy for the server of b, at a free port of 127.0.0.1. It ends with the test.
func NewProxy(t testing.TB, b Bucket) *Proxy {
	t.Helper()
	backend, err := url.Parse(b.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		ByteInterval: time.Second, bucket: b, backend: backend, released: make(chan struct{}),
		transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true},
	}
	for range 100 { // below the ephemeral ports, so that no other process takes the port while the proxy is down
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(10_000)))
		if err == nil {
			p.Endpoint = "http://" + listener.Addr().String()
			p.serve(listener)
			break
		}
	}
	if p.Endpoint == "" {
		t.Fatal("no port is free for a proxy")
	}
	t.Cleanup(p.Down)
	return p
}

// Bucket returns the bucket of NewProxy with the proxy's address as its endpoint.
func (p *Proxy) Bucket() Bucket {
	b := p.bucket
	b.Endpoint = p.Endpoint
	return b
}

// InjectFault injects a failure into the next times calls of a kind, into every one when times is
// Always. When several failures apply to a call, the earliest injected one is used.
func (p *Proxy) InjectFault(fault Fault, op Operation, times int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, pendingFault{fault, op, times})
}

// Down closes all connections and refuses new ones until Restore, as a server that has stopped.
func (p *Proxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.releaseHeldCalls()
	if p.server != nil {
		p.listener.Close() // Server.Close does not close the listener of a server that has not begun to serve
		p.server.Close()
		p.server = nil
	}
}

// Restore removes all injected failures and accepts connections again. It closes the connections of
// withheld and slow calls.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.releaseHeldCalls()
	p.pending = nil
	if p.server != nil {
		return
	}
	listener, err := net.Listen("tcp", strings.TrimPrefix(p.Endpoint, "http://"))
	if err != nil {
		panic("the proxy's port was taken: " + err.Error())
	}
	p.serve(listener)
}

// SetBefore sets a function that is called with each call without an injected failure, before it is
// forwarded. The function returns true if it has answered the call; the server receives nothing
// then. Nil removes the function.
func (p *Proxy) SetBefore(hook func(w http.ResponseWriter, r *http.Request) (answered bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = hook
}

// SetAfter sets a function that is called with the server's answer to each call without an injected
// failure, before the client receives the answer. The function may change the answer. Nil removes
// the function.
func (p *Proxy) SetAfter(hook func(answer *http.Response)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after = hook
}

// hooks returns the functions that SetBefore and SetAfter have set.
func (p *Proxy) hooks() (before func(http.ResponseWriter, *http.Request) bool, after func(*http.Response)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.before, p.after
}

// WaitIdle waits until the server has answered all calls without an injected failure, including
// those of clients that have disconnected.
func (p *Proxy) WaitIdle() {
	p.forwarding.Lock()
	defer p.forwarding.Unlock()
}

// Injected returns the number of calls into which a failure was injected.
func (p *Proxy) Injected() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.injected
}

// Calls returns the kinds of all calls in order, with or without injected failures.
func (p *Proxy) Calls() []Operation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// Sent returns the number of bytes in the bodies of all calls.
func (p *Proxy) Sent() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

// releaseHeldCalls ends the waiting of the calls that a fault withholds or slows down. The caller
// holds p.mu.
func (p *Proxy) releaseHeldCalls() {
	close(p.released)
	p.released = make(chan struct{})
}

// serve begins to accept calls from listener, until Down.
func (p *Proxy) serve(listener net.Listener) {
	p.listener, p.server = listener, &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go p.server.Serve(listener) // until Down
}

// takeFault counts a call with a body of size bytes, negative if unknown, and returns the fault to
// apply to it, "" for none. released is closed when a withheld or slow call must end.
func (p *Proxy) takeFault(op Operation, size int64) (fault Fault, released <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, op)
	p.sent += max(size, 0)
	i := slices.IndexFunc(p.pending, func(s pendingFault) bool { return s.op == Any || s.op == op })
	if i < 0 {
		return "", p.released
	}
	fault = p.pending[i].fault
	if p.pending[i].times--; p.pending[i].times == 0 {
		p.pending = slices.Delete(p.pending, i, i+1)
	}
	p.injected++
	return fault, p.released
}

// operation returns the kind of a call by its method, query and headers, for path-style and
// virtual-host addresses alike.
func operation(r *http.Request) Operation {
	q := r.URL.Query()
	copies := r.Header.Get("X-Amz-Copy-Source") != ""
	switch {
	case q.Has("uploads") && r.Method == http.MethodPost:
		return Begin
	case q.Has("uploads") || q.Has("list-type") || q.Has("prefix") || q.Has("delimiter") || q.Has("uploadId") &&
		r.Method == http.MethodGet:
		return List
	case q.Has("uploadId") && r.Method == http.MethodPost:
		return Complete
	case q.Has("uploadId") && r.Method == http.MethodDelete:
		return Abort
	case r.Method == http.MethodPut && copies:
		return Copy
	case r.Method == http.MethodPut && q.Has("partNumber"):
		return Part
	}
	for name := range q {
		if name != "x-id" && name != "versionId" && !strings.HasPrefix(name, "response-") &&
			!strings.HasPrefix(name, "X-Amz-") {
			return Other // about the bucket, or another property of the object
		}
	}
	return map[string]Operation{"PUT": Put, "GET": Get, "HEAD": Head, "DELETE": Delete}[r.Method]
}

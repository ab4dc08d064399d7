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

// Operation is a kind of call. Those of Operations are what a store does with objects.
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
	Any   Operation = "" // for Spoil: whichever comes
)

// Operations are those that every fault is tried on.
var Operations = []Operation{Put, Part, Complete, Get, Head, Copy, Delete}

// Fault is what befalls a call.
type Fault string

// The faults. Unless it says that the server did the call, the server has never heard of it, or
// only of half of its body.
const (
	Refused      Fault = "refused"   // the connection is reset at once; Down refuses it to begin with
	Reset        Fault = "reset"     // the connection is reset in mid-body, that of the request or else of the answer
	Slow         Fault = "slow"      // a byte every Pace, of the body of the request or else of the answer
	TimedOut     Fault = "timed out" // the server did it, and no answer comes for as long as Patience says
	Internal     Fault = "500"       //
	SlowDown     Fault = "503"       //
	ErrorIn200   Fault = "200 error" // 200 with an error document, and no other sign of trouble
	Skewed       Fault = "skewed"    // 403 RequestTimeTooSkewed
	NoSuchUpload Fault = "no upload" // the server did it, and 404 NoSuchUpload is told
	// the server did it, and the next HEAD says 404; a HEAD that is spoilt says so itself
	NotFoundAtHead Fault = "404 at HEAD"
	// the server did it, and the answer ends half-way through its body, or else its head,
	// in a clean close
	Truncated Fault = "truncated"
	WrongTag  Fault = "wrong tag" // the server did it, and every ETag in the answer is another
)

// Faults are all of them.
var Faults = []Fault{Refused, Reset, Slow, TimedOut, Internal, SlowDown, ErrorIn200, Skewed, NoSuchUpload,
	NotFoundAtHead,
	Truncated, WrongTag}

// Always is for Spoil: every call, until Heal.
const Always = -1

// Proxy stands before the server of a bucket, at a loopback address of its own, and spoils calls on
// command. It hands on the Host header as it came, so that what was signed for its address holds,
// pre-signed addresses too. Without a command it changes nothing. Safe for concurrent use.
type Proxy struct {
	Endpoint     string        // http://127.0.0.1:port
	ByteInterval time.Duration // between two bytes of a slow body; a second. Set it before the first call
	// how long TimedOut holds a call back: 0 not at all, negative until the client hangs up, or
	// Heal. Set it before the first call
	HoldTime time.Duration

	bucket    Bucket
	backend   *url.URL
	transport *http.Transport

	mu       sync.Mutex
	server   *http.Server // nil while it is down
	listener net.Listener // of server
	released chan struct{}
	pending  []pendingFault
	calls    []Operation
	injected int
}

// pendingFault is a fault that stands out.
type pendingFault struct {
	fault Fault
	op    Operation
	times int // left, negative for no end
}

// NewProxy starts a proxy before the server of a bucket; it ends with the test.
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
	for range 100 { // below the ports that the system hands out, so that nobody takes it while the proxy is down
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

// Bucket is the bucket as it is reached through the proxy.
func (p *Proxy) Bucket() Bucket {
	b := p.bucket
	b.Endpoint = p.Endpoint
	return b
}

// InjectFault lets a fault befall the next so many calls of a kind, every one when times is Always.
// Of several faults for one call the first that was given counts.
func (p *Proxy) InjectFault(fault Fault, op Operation, times int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, pendingFault{fault, op, times})
}

// Down refuses connections, and cuts those that there are, until Heal.
func (p *Proxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.releaseHeldCalls()
	if p.server != nil {
		p.listener.Close() // a server that has not begun yet would leave it open
		p.server.Close()
		p.server = nil
	}
}

// Restore takes back every fault. Calls that are held back or go slowly are cut.
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

// Injected returns how many calls a fault befell.
func (p *Proxy) Injected() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.injected
}

// Calls returns the calls that came, in order, spoilt or not.
func (p *Proxy) Calls() []Operation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// releaseHeldCalls ends the waiting of calls under way; p.mu is held.
func (p *Proxy) releaseHeldCalls() {
	close(p.released)
	p.released = make(chan struct{})
}

// serve begins to take calls.
func (p *Proxy) serve(listener net.Listener) {
	p.listener, p.server = listener, &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go p.server.Serve(listener) // until Down
}

// takeFault counts a call and takes the fault that it meets, "" for none.
func (p *Proxy) takeFault(op Operation) (fault Fault, released <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, op)
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

// operation tells the kind of a call, wherever the bucket stands in its address.
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
			return Other // about the bucket, or something else of the object
		}
	}
	return map[string]Operation{"PUT": Put, "GET": Get, "HEAD": Head, "DELETE": Delete}[r.Method]
}

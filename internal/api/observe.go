package api

import (
	"cmp"
	"io"
	"net/http"
	"time"
)

// Observation describes one answered request, for metrics. It has few different values of Method
// and Route, whatever clients send.
type Observation struct {
	Method   string        // "other" for a method that no route has
	Route    string        // pattern of the route, such as /api/files/{id}; "" before the service has started
	Status   int           // of the response, or statusDisconnected
	Took     time.Duration // from the head of the request to the end of the response
	Received int64         // bytes of the request's body that were read
	Sent     int64         // bytes of the response's body
}

// observedMethods are the methods that an Observation names.
var observedMethods = map[string]bool{
	"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "OPTIONS": true,
	"PROPFIND": true, "PROPPATCH": true, "MKCOL": true, "COPY": true, "MOVE": true, "LOCK": true, "UNLOCK": true,
}

// countReceived replaces the request's body by one that counts the bytes that handlers read, for
// observation.
func (c *call) countReceived() {
	if c.r.Body == nil || c.r.Body == http.NoBody {
		return
	}
	c.received = &countingReader{Reader: c.r.Body}
	c.r.Body = struct {
		io.Reader
		io.Closer
	}{c.received, c.r.Body}
}

// observation describes the answered request for metrics; took is the time that it took.
func (c *call) observation(took time.Duration) Observation {
	o := Observation{Method: c.r.Method, Status: cmp.Or(c.status(), http.StatusOK), Took: took, Sent: c.w.written}
	if !observedMethods[o.Method] {
		o.Method = "other"
	}
	if c.route != nil {
		o.Route = cmp.Or(c.route.pattern, c.route.name)
	}
	if c.received != nil {
		o.Received = c.received.bytes
	}
	return o
}

package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"larder/internal/blob"
	"larder/internal/egress"
)

// probeTransport is an HTTP transport whose calls end with their step and whose responses have a
// limited size. It records the clock of the server.
type probeTransport struct {
	next *http.Transport
	now  func() time.Time

	mu      sync.Mutex
	step    context.Context
	skew    time.Duration // how far our clock is ahead
	hasDate bool          // a response had a date
}

// newProbeTransport returns a transport that connects to the addresses that policy allows.
func newProbeTransport(policy *egress.Policy, now func() time.Time) *probeTransport {
	transport := policy.Transport()
	transport.MaxResponseHeaderBytes = maxProbeAnswer
	return &probeTransport{next: transport, now: now}
}

// close closes idle connections. A nil transport, as for a disk, has none.
func (t *probeTransport) close() {
	if t != nil {
		t.next.CloseIdleConnections()
	}
}

// setStep sets the context of the step that calls belong to from now on; they end with it. A nil
// transport does nothing.
func (t *probeTransport) setStep(ctx context.Context) {
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.step = ctx
	}
}

// client returns a client with this transport. It does not follow redirects.
func (t *probeTransport) client() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// RoundTrip implements http.RoundTripper. A store may detach its calls from the caller's context;
// the calls still end with the step.
func (t *probeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	step := t.step
	t.mu.Unlock()
	ctx, cancel := context.WithCancel(r.Context())
	context.AfterFunc(step, cancel) // at the latest at the end of the step
	answer, err := t.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		t.mu.Lock()
		t.skew, t.hasDate = t.now().Sub(date), true
		t.mu.Unlock()
	}
	answer.Body = boundedBody{io.LimitReader(answer.Body, maxProbeAnswer), answer.Body}
	return answer, nil
}

// boundedBody is a body of which only a limited part is read.
type boundedBody struct {
	io.Reader
	io.Closer
}

const (
	maxSkew  = 5 * time.Minute // beyond it signatures are refused, or about to be
	warnSkew = 30 * time.Second
)

// clock returns the finding about the store's clock, compared with that of this machine.
func (t *probeTransport) clock() Finding {
	t.mu.Lock()
	defer t.mu.Unlock()
	skew := t.skew.Abs()
	switch {
	case !t.hasDate:
		return Finding{"clock", true, noDateMessage}
	case skew > maxSkew:
		return Finding{"clock", false, clockMessage}
	case skew > warnSkew:
		return Finding{"clock", true, skewMessage}
	}
	return Finding{"clock", true, worksMessage}
}

// presignLifetime is how long the presigned addresses of a probe are valid.
const presignLifetime = time.Minute

// presign is the step that puts and gets an object by presigned addresses like those for clients.
func (p *probeRun) presign(ctx context.Context) error {
	put, get, err := p.presignedURLs(ctx)
	if err != nil {
		return err
	}
	if _, err := p.send(ctx, http.MethodPut, put, nil); err != nil {
		return err
	}
	_, err = p.send(ctx, http.MethodGet, get, nil)
	return err
}

// presignedURLs returns presigned addresses to put and get an object of the probe.
func (p *probeRun) presignedURLs(ctx context.Context) (put, get string, err error) {
	signer, ok := p.store.(blob.Presigner)
	if !ok {
		return "", "", errors.New("the store does not sign addresses")
	}
	key := p.newKey()
	if put, err = signer.PresignPut(ctx, key, int64(len(p.body)), presignLifetime); err != nil {
		return "", "", err
	}
	get, err = signer.PresignGet(ctx, key, blob.GetOptions{TTL: presignLifetime})
	return put, get, err
}

// send sends a request like a browser and returns the header of the response. The response must be
// successful, and the response to a GET must have the written content.
func (p *probeRun) send(ctx context.Context, method, address string, header http.Header) (http.Header, error) {
	var body io.Reader
	if method == http.MethodPut {
		body = bytes.NewReader(p.body)
	}
	r, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, errors.New("the signed address is malformed")
	}
	for name, values := range header {
		r.Header[name] = values
	}
	answer, err := p.transport.client().Do(r)
	if err != nil {
		return nil, errors.New("no answer") // the error would contain the address, which grants access to the object
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNoContent {
		return nil, fmt.Errorf("status %d", answer.StatusCode)
	}
	if method == http.MethodGet {
		return answer.Header, p.checkBody(answer.Body, 0)
	}
	return answer.Header, nil
}

// The CORS problems that a browser would have.
var (
	errNoCORS   = errors.New("CORS does not allow the site")
	errNoETag   = errors.New("CORS does not expose the ETag")
	errNoHeader = errors.New("CORS does not allow Content-Type")
)

// cors is the step that sends the requests of a browser on a page of the site, which uploads to the
// bucket and reads from it. Errors: errNoCORS, errNoETag, errNoHeader.
func (p *probeRun) cors(ctx context.Context) error {
	put, get, err := p.presignedURLs(ctx)
	if err != nil {
		return err
	}
	requests := []struct{ method, address string }{{http.MethodPut, put}, {http.MethodGet, get}}
	for _, request := range requests {
		ask := http.Header{"Origin": {p.origin}, "Access-Control-Request-Method": {request.method}}
		if request.method == http.MethodPut {
			ask.Set("Access-Control-Request-Headers", "content-type")
		}
		answer, err := p.send(ctx, http.MethodOptions, request.address, ask)
		switch {
		case err != nil || !p.allowsOrigin(answer) ||
			!headerLists(answer, "Access-Control-Allow-Methods", request.method):
			return errNoCORS
		case request.method == http.MethodPut && !headerLists(answer, "Access-Control-Allow-Headers", "Content-Type"):
			return errNoHeader
		}
	}
	for _, request := range requests {
		answer, err := p.send(ctx, request.method, request.address, http.Header{"Origin": {p.origin}})
		switch {
		case err != nil:
			return err
		case !p.allowsOrigin(answer):
			return errNoCORS
		case !headerLists(answer, "Access-Control-Expose-Headers", "ETag"):
			return errNoETag
		}
	}
	return nil
}

// allowsOrigin reports whether a response allows pages of the site to read it.
func (p *probeRun) allowsOrigin(answer http.Header) bool {
	allowed := answer.Get("Access-Control-Allow-Origin")
	return allowed == "*" || allowed == p.origin
}

// headerLists reports whether the list in a header contains a word or `*`.
func headerLists(answer http.Header, header, word string) bool {
	return slices.ContainsFunc(strings.Split(strings.Join(answer.Values(header), ","), ","), func(have string) bool {
		have = strings.TrimSpace(have)
		return have == "*" || strings.EqualFold(have, word)
	})
}

package captcha

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/egress"
	"larder/internal/fault"
)

const mySecret = "canary-secret"

// newVerifier starts a verify address, and returns a Verifier that uses it.
func newVerifier(t *testing.T, answer http.HandlerFunc) (*Verifier, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return New(Config{
		Address: server.URL + "/siteverify?v=1", Secret: mySecret,
		Egress: &egress.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	}), server
}

var testClient = netip.MustParseAddr("203.0.113.7")

func TestRequestToTheVerifyAddress(t *testing.T) {
	t.Parallel()
	var asked atomic.Value
	v, _ := newVerifier(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked.Store(fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("Content-Type"), body))
		_, _ = io.WriteString(w, `{"success": true}`)
	})
	for _, test := range []struct {
		ip   netip.Addr
		want string
	}{
		{testClient, "remoteip=203.0.113.7&"}, {netip.MustParseAddr("2001:db8::1"), "remoteip=2001%3Adb8%3A%3A1&"},
		{netip.Addr{}, ""},
	} {
		if err := v.Check(t.Context(), "a token&secret=x", test.ip); err != nil {
			t.Error(err)
		}
		want := "POST /siteverify?v=1 application/x-www-form-urlencoded " + test.want +
			"response=a+token%26secret%3Dx&secret=canary-secret"
		if got := asked.Load(); got != want {
			t.Errorf("asked %v, want %s", got, want)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	const passes = fault.Kind(-1)
	long := func(n int) string {
		const frame = `{"success": true, "x": ""}`
		return `{"success": true, "x": "` + strings.Repeat("x", n-len(frame)) + `"}`
	}
	for _, test := range []struct {
		status int
		body   string
		want   fault.Kind
	}{
		{200, `{"success": true}`, passes},
		{200, `{"success": true, "hostname": "elsewhere.example", "action": "other", "score": 0.1, "error-codes": []}`,
			passes},
		{200, long(64 << 10), passes},
		{200, long(64<<10 + 1), fault.Unavailable},
		{200, `{"success": false}`, fault.Invalid},
		{200, `{"success": false, "error-codes": ["timeout-or-duplicate"]}`, fault.Invalid},
		// a wrong configuration
		{200, `{"success": false, "error-codes": ["invalid-input-response", "invalid-input-secret"]}`,
			fault.Unavailable},
		{200, `{"success": false, "error-codes": ["missing-input-secret"]}`, fault.Unavailable},
		{200, `{"Success": true}`, fault.Unavailable},
		{200, `{"success": false, "SUCCESS": true}`, fault.Invalid},
		{200, `{"success": "true"}`, fault.Unavailable},
		{200, `{"success": 1}`, fault.Unavailable},
		{200, `{"success": null}`, fault.Unavailable},
		{200, `{}`, fault.Unavailable},
		{200, `[true]`, fault.Unavailable},
		{200, `true`, fault.Unavailable},
		{200, `null`, fault.Unavailable},
		{200, `{"success": true`, fault.Unavailable},
		{200, `{"success": true} and more`, fault.Unavailable},
		{200, ``, fault.Unavailable},
		{200, `<html>success: true</html>`, fault.Unavailable},
		{201, `{"success": true}`, fault.Unavailable},
		{400, `{"success": true}`, fault.Unavailable},
		{404, `{"success": true}`, fault.Unavailable},
		{500, `{"success": true}`, fault.Unavailable},
		{503, ``, fault.Unavailable},
	} {
		v, _ := newVerifier(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		})
		err := v.Check(t.Context(), "token", testClient)
		if got := faultKind(err); got != test.want {
			t.Errorf("%d %.100s: %v", test.status, test.body, err)
		}
		if err != nil && strings.Contains(err.Error(), mySecret) {
			t.Errorf("the error contains the secret: %v", err)
		}
	}
}

// faultKind returns the kind of an error, -1 for none.
func faultKind(err error) fault.Kind {
	if err == nil {
		return -1
	}
	return fault.KindOf(err)
}

func TestInvalidTokensAreNotSent(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	v, _ := newVerifier(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, `{"success": true}`)
	})
	for _, token := range []string{"", strings.Repeat("a", 4097), strings.Repeat("é", 2049)} {
		if err := v.Check(t.Context(), token, testClient); !fault.Is(err, fault.Invalid) {
			t.Errorf("%d bytes: %v", len(token), err)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("asked %d times", asked.Load())
	}
	if err := v.Check(t.Context(), strings.Repeat("a", 4096), testClient); err != nil || asked.Load() != 1 {
		t.Errorf("4096 bytes: %v, asked %d times", err, asked.Load())
	}
	none := New(Config{Egress: &egress.Policy{}})
	if err := none.Check(t.Context(), "token", testClient); !fault.Is(err, fault.Unavailable) || none.Configured() ||
		!v.Configured() {
		t.Errorf("without an address: %v", err)
	}
}

// The check fails for addresses that are not allowed, redirects and dead servers.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	yes := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"success": true}`) }
	good, server := newVerifier(t, yes)
	if err := good.Check(t.Context(), "token", testClient); err != nil {
		t.Fatal(err)
	}
	private := New(Config{Address: server.URL, Secret: mySecret, Egress: &egress.Policy{}})
	if err := private.Check(t.Context(), "token", testClient); !fault.Is(err, fault.Unavailable) ||
		!errors.Is(err, egress.ErrRefused) {
		t.Errorf("an address that is not public: %v", err)
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		sends, _ := newVerifier(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, server.URL, status)
		})
		if err := sends.Check(t.Context(), "token", testClient); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%d: %v", status, err)
		}
	}
	dead, gone := newVerifier(t, yes)
	gone.Close()
	if err := dead.Check(t.Context(), "token", testClient); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a dead server: %v", err)
	}
}

func TestASlowAnswerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	if v := New(Config{Egress: &egress.Policy{}}); v.timeout != 10*time.Second || cap(v.slots) != 32 {
		t.Errorf("waits %v, %d requests at a time", v.timeout, cap(v.slots))
	}
	for name, answer := range map[string]http.HandlerFunc{
		"no head": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"no end": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"success": true`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		v, _ := newVerifier(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body) // so that the end of the connection is noticed
			answer(w, r)
		})
		v.timeout = 50 * time.Millisecond
		if err := v.Check(t.Context(), "token", testClient); !fault.Is(err, fault.Unavailable) ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Beyond the limit of parallel requests, a caller waits for a slot, and no longer than for an
// answer.
func TestParallelRequestsAreBounded(t *testing.T) {
	t.Parallel()
	v, _ := newVerifier(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"success": true}`)
	})
	v.timeout = 50 * time.Millisecond
	for range cap(v.slots) {
		v.slots <- struct{}{}
	}
	if err := v.Check(t.Context(), "token", testClient); !fault.Is(err, fault.Unavailable) {
		t.Errorf("without a slot: %v", err)
	}
	<-v.slots
	v.timeout = 10 * time.Second
	if err := v.Check(t.Context(), "token", testClient); err != nil || len(v.slots) != cap(v.slots)-1 {
		t.Errorf("with a slot: %v, %d slots are in use", err, len(v.slots))
	}
}

package egress_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"larder/internal/egress"
)

// noVisitListener listens where no connection is expected.
type noVisitListener struct {
	net.Listener
	t        *testing.T
	accepted chan net.Addr
}

func listen(t *testing.T, host string) *noVisitListener {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	c := &noVisitListener{listener, t, make(chan net.Addr, 100)}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c.accepted <- conn.RemoteAddr()
			_ = conn.Close()
		}
	}()
	return c
}

func (l *noVisitListener) port() string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// wantNoConnection fails the test if there was a connection. Connections are accepted in order, so
// an earlier one would come before that of the check itself.
func (l *noVisitListener) wantNoConnection(what string) {
	l.t.Helper()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		l.t.Fatal(err)
	}
	defer conn.Close()
	for came := <-l.accepted; came.String() != conn.LocalAddr().String(); came = <-l.accepted {
		l.t.Errorf("%s: there was a connection to %s", what, l.Addr())
	}
}

// changingResolver answers each look-up differently. The last answer stays.
type changingResolver struct {
	mu      sync.Mutex
	answers [][]string
}

func (r *changingResolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.answers[0]
	if len(r.answers) > 1 {
		r.answers = r.answers[1:]
	}
	return fakeResolver{host: now}.LookupNetIP(ctx, network, host)
}

// dialRecorder records the dialled addresses and makes no connection.
type dialRecorder struct {
	mu sync.Mutex
	to []string
}

var errNotMade = errors.New("not made")

func (d *dialRecorder) dial(_ context.Context, _, address string) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to = append(d.to, address)
	return nil, errNotMade
}

// get sends a request with a new client of p, and returns the status, 0 for none.
func get(t *testing.T, p *egress.Policy, address string) (int, error) {
	t.Helper()
	client := p.Client()
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.StatusCode, nil
}

// Abuse case C62.
func TestRebindingNamesAreCheckedWhenDialling(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "::1"} {
		hidden := listen(t, host)
		policy := &egress.Policy{Resolver: &changingResolver{answers: [][]string{{"8.8.8.8"}, {host}}}}
		address := "http://rebind.example.org:" + hidden.port()
		if got, err := checkEndpoint(policy, address); got != allowed {
			t.Fatalf("while the name is public: %s, %v", got, err)
		}
		if _, err := get(t, policy, address); !errors.Is(err, egress.ErrRefused) {
			t.Errorf("when the name means %s: %v", host, err)
		}
		hidden.wantNoConnection("rebinding")
		if got, err := checkEndpoint(policy, address); got != refused {
			t.Errorf("looked up again: %s, %v", got, err)
		}
	}
}

func TestOnlyVettedAddressesAreDialled(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		answers []string
		want    []string
	}{
		{"all public", []string{"8.8.8.8", "2606:4700::1111"}, []string{"8.8.8.8:9000", "[2606:4700::1111]:9000"}},
		{"private first", []string{"127.0.0.1", "8.8.8.8", "10.0.0.1", "1.1.1.1"},
			[]string{"8.8.8.8:9000", "1.1.1.1:9000"}},
		{"A private, AAAA public", []string{"192.168.0.1", "2606:4700::1111"}, []string{"[2606:4700::1111]:9000"}},
		{"A public, AAAA private", []string{"::1", "fd00::1", "fe80::1%eth0", "8.8.8.8"}, []string{"8.8.8.8:9000"}},
		{"hidden in IPv6", []string{"::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1"}, nil},
		{"none", []string{"0.0.0.0", "::"}, nil},
		{"eight", slices.Repeat([]string{"8.8.8.8"}, 8), slices.Repeat([]string{"8.8.8.8:9000"}, 8)},
		{"more than are tried", slices.Repeat([]string{"8.8.8.8"}, 9), slices.Repeat([]string{"8.8.8.8:9000"}, 8)},
		{"only the ninth is public", append(slices.Repeat([]string{"10.0.0.1"}, 8), "8.8.8.8"),
			[]string{"8.8.8.8:9000"}},
	} {
		var tried dialRecorder
		policy := &egress.Policy{Resolver: fakeResolver{"store.example.org": row.answers}, Dial: tried.dial}
		_, err := get(t, policy, "http://store.example.org:9000/")
		if !slices.Equal(tried.to, row.want) {
			t.Errorf("%s: dialled %v, want %v", row.name, tried.to, row.want)
		}
		if want := map[bool]error{true: egress.ErrRefused, false: errNotMade}[row.want == nil]; !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", row.name, err, want)
		}
	}
}

// An address that Check would refuse is refused when dialling as well.
func TestAddressesAreCheckedWhenDialling(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"http://127.1", "http://0x7f.1", "http://2130706433", "http://bucket.127.0.0.1", "http://localhost:80",
		"http://[::1]", "http://0", "http://10.0.0.1", "http://8.8.8.8:0",
		"http://larder.example.org:443", "http://LARDER.example.org.:443", "http://203.0.114.7:443",
		"http://[fe80::1%25eth0]", "http://8.8.8.8:65536",
	} {
		var tried dialRecorder
		policy := &egress.Policy{Resolver: hosts, OwnHosts: []string{"larder.example.org:443"}, Dial: tried.dial}
		if _, err := get(t, policy, address); err == nil || tried.to != nil || !errors.Is(err, egress.ErrRefused) {
			t.Errorf("%s: %v, dialled %v", address, err, tried.to)
		}
	}
}

// Abuse case C63.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := listen(t, "127.0.0.1")
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{"http://" + elsewhere.Addr().String() + "/", "/again"} {
			var asked atomic.Int32
			store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) > 1 {
					return
				}
				w.Header().Set("Location", to)
				w.WriteHeader(status)
			}))
			policy := &egress.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
			if got, err := get(t, policy, store.URL); got != status || err != nil || asked.Load() != 1 {
				t.Errorf("%d to %s: %d, %v after %d requests", status, to, got, err, asked.Load())
			}
			store.Close()
		}
	}
	elsewhere.wantNoConnection("a redirect")
}

// Abuse case C64. Not parallel: it changes the environment, which ProxyFromEnvironment reads once.
func TestProxiesOfTheEnvironmentAreIgnored(t *testing.T) {
	proxy := listen(t, "127.0.0.1")
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		for _, spelled := range []string{name, strings.ToLower(name)} {
			t.Setenv(spelled, "http://"+proxy.Addr().String())
		}
	}
	for _, name := range []string{"NO_PROXY", "no_proxy", "REQUEST_METHOD"} {
		t.Setenv(name, "")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://store.example.org/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if seen, err := http.ProxyFromEnvironment(request); err != nil || seen == nil || seen.Host != proxy.Addr().
		String() {
		t.Fatalf("the environment names the proxy %v, %v: the test is meaningless", seen, err)
	}
	var tried dialRecorder
	policy := &egress.Policy{Resolver: hosts, Dial: tried.dial}
	for _, scheme := range []string{"http", "https"} {
		if _, err := get(t, policy, scheme+"://store.example.org/"); !errors.Is(err, errNotMade) {
			t.Error(err)
		}
	}
	if want := []string{"8.8.8.8:80", "8.8.8.8:443"}; !slices.Equal(tried.to, want) {
		t.Errorf("dialled %v, want %v", tried.to, want)
	}
	proxy.wantNoConnection("a proxy")
	transport, is := policy.Client().Transport.(*http.Transport)
	if !is || transport.Proxy != nil || policy.Transport().Proxy != nil {
		t.Error("a transport has a proxy")
	}
}

// A server that sends header lines without end does not fill the memory, and a server without a
// trusted certificate is refused (abuse case C65).
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	loopback := &egress.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	for size, fits := range map[int]bool{60 << 10: true, 70 << 10: false} {
		store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", size))
		}))
		if got, err := get(t, loopback, store.URL); (got == 200) != fits {
			t.Errorf("a head of %d bytes: %d, %v", size, got, err)
		}
		store.Close()
	}
	unknown := httptest.NewUnstartedServer(http.NotFoundHandler())
	unknown.Config.ErrorLog = log.New(io.Discard, "", 0)
	unknown.StartTLS()
	defer unknown.Close()
	if got, err := get(t, loopback, unknown.URL); err == nil || !strings.Contains(fmt.Sprint(err), "certificate") {
		t.Errorf("an untrusted certificate: %d, %v", got, err)
	}
}

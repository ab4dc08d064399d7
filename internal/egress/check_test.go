package egress_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"larder/internal/egress"
	"larder/internal/fault"
)

// fakeResolver answers look-ups from a table. Other names have a public address.
type fakeResolver map[string][]string

func (r fakeResolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	texts, known := r[strings.ToLower(host)]
	switch {
	case !known:
		texts = []string{"8.8.8.8"}
	case texts == nil:
		return nil, errors.New("no such host")
	}
	addrs := make([]netip.Addr, len(texts))
	for i, text := range texts {
		addrs[i] = netip.MustParseAddr(text)
	}
	return addrs, nil
}

// The results of checkEndpoint.
const (
	allowed   = "fine"
	refused   = "refused" // not public
	malformed = "wrong"   // not an endpoint at all
)

var hosts = fakeResolver{
	"localhost": {"127.0.0.1", "::1"}, "localhost.": {"127.0.0.1"}, "nowhere.example.org": nil, "empty.example.org": {},
	"inside.example.org": {"10.1.2.3"},
	"half.example.org":   {"8.8.8.8", "127.0.0.1"}, "other-half.example.org": {"::1", "8.8.8.8"},
	"two.example.org":    {"8.8.8.8", "2606:4700::1111"},
	"mapped.example.org": {"::ffff:192.168.0.1"}, "zone.example.org": {"fe80::1%eth0"},
	"metadata.google.internal": {"169.254.169.254"},
	"nat64.example.org":        {"64:ff9b::a00:1"}, "larder.example.org": {"203.0.114.7"},
	"neighbour.example.org": {"203.0.114.7"}, "none.example.org": {"0.0.0.0"},
}

func checkEndpoint(p *egress.Policy, text string) (string, error) {
	endpoint, err := egress.ParseEndpoint(text)
	if err != nil {
		return malformed, err
	}
	if err := p.Check(context.Background(), endpoint); err != nil {
		return refused, err
	}
	return allowed, nil
}

// Abuse cases C60, C61, C64.
func TestWhichEndpointsMayBeReached(t *testing.T) {
	t.Parallel()
	policy := &egress.Policy{Resolver: hosts, OwnHosts: []string{"larder.example.org:443"}}
	sentences := map[string]string{}
	for _, row := range []struct{ endpoint, want string }{
		{"https://s3.example.org", allowed},
		{"https://s3.example.org/", allowed},
		{"HTTPS://S3.Example.ORG:9000", allowed},
		{"http://s3.example.org.", allowed},
		{"http://s3.example.org:1", allowed},
		{"http://s3.example.org:65535", allowed},
		{"http://under_score.example.org", allowed},
		{"http://xn--bcher-kva.example", allowed},
		{"http://1.example.org", allowed},
		{"http://10.0.0.1.example.org", allowed}, // a name like any other
		{"http://two.example.org", allowed},
		{"http://1.1.1.1", allowed},
		{"https://[2606:4700::1111]:9000", allowed},
		{"http://[::ffff:8.8.8.8]", allowed},
		{"http://neighbour.example.org:443", allowed}, // behind the same proxy
		{"http://larder.example.org:9000", allowed},   // another service of that machine

		{"http://127.0.0.1", refused},
		{"http://127.0.0.1:9000", refused},
		{"http://127.255.255.254", refused},
		{"http://127.1", refused},
		{"http://127.0.1", refused},
		{"http://2130706433", refused},
		{"http://0x7f.1", refused},
		{"http://0X7F000001", refused},
		{"http://0x", refused},
		{"http://0177.0.0.1", refused},
		{"http://017700000001", refused},
		{"http://127.0.0.01", refused},
		{"http://127.0.0.0x1", refused},
		{"http://127.0.0.1.", refused},
		{"http://8.8.8.8.", refused},
		{"http://010.8.8.8", refused},
		{"http://256.256.256.256", refused},
		{"http://1.2.3.4.5", refused},
		{"http://bucket.127.0.0.1", refused},
		{"http://0", refused},
		{"http://0.0.0.0", refused},
		{"http://.", refused},
		{"http://localhost", refused},
		{"http://LOCALHOST:80", refused},
		{"http://localhost.", refused},
		{"http://[::]", refused},
		{"http://[::1]", refused},
		{"http://[0:0:0:0:0:0:0:1]:9000", refused},
		{"http://[::ffff:127.0.0.1]", refused},
		{"http://[::ffff:7f00:1]", refused},
		{"http://[::127.0.0.1]", refused},
		{"http://[::8.8.8.8]", refused},
		{"http://10.0.0.1", refused},
		{"http://172.16.0.1", refused},
		{"http://172.31.255.255", refused},
		{"http://192.168.1.1", refused},
		{"http://169.254.169.254", refused},
		{"http://[::ffff:169.254.169.254]", refused},
		{"http://[fd00:ec2::254]", refused},
		{"http://100.64.0.1", refused},
		{"http://192.0.0.1", refused},
		{"http://198.18.0.1", refused},
		{"http://224.0.0.1", refused},
		{"http://240.0.0.1", refused},
		{"http://255.255.255.255", refused},
		{"http://[fe80::1]", refused},
		{"http://[fe80::1%25eth0]", malformed},
		{"http://[2606:4700::1111%25eth0]", malformed},
		{"http://[::ffff:8.8.8.8%25eth0]", malformed},
		{"http://[fec0::1]", refused},
		{"http://[fc00::1]", refused},
		{"http://[ff02::1]", refused},
		{"http://[64:ff9b::7f00:1]", refused},
		{"http://[64:ff9b::8.8.8.8]", refused},
		{"http://[64:ff9b:1::a00:1]", refused},
		{"http://[2002:7f00:1::]", refused},
		{"http://[2001::1]", refused},
		{"http://[100::1]", refused},
		{"http://metadata.google.internal", refused},
		{"http://nowhere.example.org", refused},
		{"http://empty.example.org", refused},
		{"http://inside.example.org", refused},
		{"http://half.example.org", refused},
		{"http://other-half.example.org", refused},
		{"http://mapped.example.org", refused},
		{"http://zone.example.org", refused},
		{"http://nat64.example.org", refused},
		{"http://none.example.org", refused},
		{"https://larder.example.org", refused}, // this service
		{"https://LARDER.example.org.:443/", refused},
		{"http://larder.example.org:0443", refused},
		{"https://203.0.114.7", refused}, // and its address
		{"https://[::ffff:203.0.114.7]", refused},
		{"http://203.0.114.7:443", refused},

		{"", malformed},
		{"s3.example.org", malformed},
		{"//s3.example.org", malformed},
		{"http:s3.example.org", malformed},
		{"http:///s3.example.org", malformed},
		{"http:", malformed},
		{"http://", malformed},
		{"http://:80", malformed},
		{"http://?", malformed},
		{"file:///etc/passwd", malformed},
		{"file://s3.example.org/", malformed},
		{"gopher://s3.example.org:70/_x", malformed},
		{"ftp://s3.example.org", malformed},
		{"dict://s3.example.org:2628", malformed},
		{"unix:///run/x.sock", malformed},
		{"javascript:alert(1)", malformed},
		{"data:text/plain,x", malformed},
		{"http://s3.example.org:0", malformed},
		{"http://s3.example.org:00", malformed},
		{"http://s3.example.org:65536", malformed},
		{"http://s3.example.org:-1", malformed},
		{"http://s3.example.org:+80", malformed},
		{"http://s3.example.org:x", malformed},
		{"http://s3.example.org:", malformed},
		{"http://s3.example.org:80:80", malformed},
		{"http://user@s3.example.org", malformed},
		{"http://user:password@s3.example.org", malformed},
		{"http://@s3.example.org", malformed},
		{"http://s3.example.org@127.0.0.1", malformed},
		{"http://s3.example.org#@127.0.0.1", malformed},
		{`http://s3.example.org\@127.0.0.1`, malformed},
		{"http://s3.example.org/bucket", malformed},
		{"http://s3.example.org//", malformed},
		{"http://s3.example.org/%2f", malformed},
		{"http://s3.example.org?x=y", malformed},
		{"http://s3.example.org/?", malformed},
		{"http://s3.example.org#x", malformed},
		{"http://s3.example.org#", malformed},
		{" http://s3.example.org", malformed},
		{"http://s3.example.org ", malformed},
		{"http://s3.example.org\r\nHost: x", malformed},
		{"http://s3.example.org\t", malformed},
		{"http://a b.example.org", malformed},
		{"http://a,b.example.org", malformed},
		{"http://a;b.example.org", malformed},
		{"http://*.example.org", malformed},
		{"http://h%41.example.org", malformed},
		{"http://[::1", malformed},
		{"http://::1", malformed},
		{"http://[::1%25]", malformed},
		{"http://[127.0.0.1]", malformed},
		{"http://[::1]x", malformed},
		{"http://bücher.example", malformed},
		{"http://１２７.0.0.1", malformed},
		{"http://127。0。0。1", malformed},
		{"http://ⓛocalhost", malformed},
		{"http://" + strings.Repeat("a.", 123) + "b", allowed},           // 254 bytes
		{"http://" + strings.Repeat("a.", 123) + "bc", allowed},          // 255
		{"http://" + strings.Repeat("a.", 123) + "bcd", malformed},       // 256
		{"https://s3.example.org" + strings.Repeat("/", 250), malformed}, // even if filled up with slashes
	} {
		got, err := checkEndpoint(policy, row.endpoint)
		if got != row.want {
			t.Errorf("%q is %s, want %s (%v)", row.endpoint, got, row.want, err)
			continue
		}
		if got == allowed {
			continue
		}
		var told *fault.Error
		if !errors.As(err, &told) || !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v is not a fault", row.endpoint, err)
			continue
		}
		if first, seen := sentences[got]; seen && told.Message != first {
			t.Errorf("the message for %q is %q, for others %q", row.endpoint, told.Message, first)
		}
		sentences[got] = told.Message
	}
}

func TestAllowedRangesMayBeReached(t *testing.T) {
	t.Parallel()
	policy := &egress.Policy{
		Resolver: hosts, Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"),
			netip.MustParsePrefix("192.168.0.1/32"), netip.MustParsePrefix("fd00:1::/32")},
	}
	for endpoint, want := range map[string]string{
		"http://10.1.0.0": allowed, "http://10.1.255.255:9000": allowed, "http://10.0.255.255": refused,
		"http://10.2.0.0":          refused,
		"http://[::ffff:10.1.2.3]": allowed, "http://[::ffff:10.2.2.3]": refused, "http://inside.example.org": allowed,
		"http://mapped.example.org": allowed,
		"http://[fd00:1::]":         allowed, "http://[fd00:1:ffff:ffff:ffff:ffff:ffff:ffff]": allowed,
		"http://[fd00:2::]": refused, "http://[fd00:0:ffff::]": refused,
		"http://[fd00:1::1%25eth0]": malformed, "http://[::10.1.2.3]": refused, "http://[64:ff9b::10.1.2.3]": refused,
		"http://[2002:a01:203::]": refused,
		"http://127.0.0.1":        refused, "http://8.8.8.8": allowed, "http://10.1.2.3:0": malformed,
		"http://0xa.1.2.3": refused, "http://167838211": refused,
	} {
		if got, err := checkEndpoint(policy, endpoint); got != want {
			t.Errorf("%s is %s, want %s (%v)", endpoint, got, want, err)
		}
	}
	everything := &egress.Policy{Resolver: hosts,
		Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
	for endpoint, want := range map[string]string{
		"http://127.0.0.1": allowed, "http://[::1]": allowed, "http://localhost": allowed,
		"http://169.254.169.254": allowed,
		// all of them reach this machine
		"http://0.0.0.0": refused, "http://[::]": refused, "http://[::ffff:0.0.0.0]": refused,
		"http://none.example.org": refused,
		"http://224.0.0.1":        refused, "http://[ff02::1]": refused, "http://[fe80::1%25eth0]": malformed,
		"http://127.1": refused,
	} {
		if got, err := checkEndpoint(everything, endpoint); got != want {
			t.Errorf("with everything allowed %s is %s, want %s (%v)", endpoint, got, want, err)
		}
	}
}

func TestRefuseComesBeforeAllow(t *testing.T) {
	t.Parallel()
	mine := netip.MustParseAddrPort("10.1.2.3:8080")
	policy := &egress.Policy{
		Resolver: hosts, Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		Refuse: func(to netip.AddrPort) bool { return to == mine },
		Ports:  func(port uint16) bool { return port != 25 },
	}
	for endpoint, want := range map[string]string{
		"http://10.1.2.3:8080": refused, "http://10.1.2.3:8081": allowed, "http://10.1.2.4:8080": allowed,
		"http://[::ffff:10.1.2.3]:8080":  refused,
		"http://inside.example.org:8080": refused, "http://inside.example.org": allowed, "http://10.1.2.4:25": refused,
		"http://8.8.8.8:25": refused,
	} {
		if got, err := checkEndpoint(policy, endpoint); got != want {
			t.Errorf("%s is %s, want %s (%v)", endpoint, got, want, err)
		}
	}
}

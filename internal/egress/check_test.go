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

// names answers lookups from a table; whatever is not in it is a public host.
type names map[string][]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	texts, known := n[strings.ToLower(host)]
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

// What an endpoint may be.
const (
	fine    = "fine"
	refused = "refused" // not public
	wrong   = "wrong"   // not an endpoint at all
)

var hosts = names{
	"localhost": {"127.0.0.1", "::1"}, "localhost.": {"127.0.0.1"}, "nowhere.example.org": nil, "empty.example.org": {}, "inside.example.org": {"10.1.2.3"},
	"half.example.org": {"8.8.8.8", "127.0.0.1"}, "other-half.example.org": {"::1", "8.8.8.8"}, "two.example.org": {"8.8.8.8", "2606:4700::1111"},
	"mapped.example.org": {"::ffff:192.168.0.1"}, "zone.example.org": {"fe80::1%eth0"}, "metadata.google.internal": {"169.254.169.254"},
	"nat64.example.org": {"64:ff9b::a00:1"}, "larder.example.org": {"203.0.114.7"}, "neighbour.example.org": {"203.0.114.7"}, "none.example.org": {"0.0.0.0"},
}

func judge(p *egress.Policy, text string) (string, error) {
	endpoint, err := egress.Endpoint(text)
	if err != nil {
		return wrong, err
	}
	if err := p.Check(context.Background(), endpoint); err != nil {
		return refused, err
	}
	return fine, nil
}

// Abuse cases C60, C61, C64.
func TestWhichEndpointsMayBeReached(t *testing.T) {
	t.Parallel()
	policy := &egress.Policy{Resolver: hosts, Own: []string{"larder.example.org:443"}}
	sentences := map[string]string{}
	for _, row := range []struct{ endpoint, want string }{
		{"https://s3.example.org", fine},
		{"https://s3.example.org/", fine},
		{"HTTPS://S3.Example.ORG:9000", fine},
		{"http://s3.example.org.", fine},
		{"http://s3.example.org:1", fine},
		{"http://s3.example.org:65535", fine},
		{"http://under_score.example.org", fine},
		{"http://xn--bcher-kva.example", fine},
		{"http://1.example.org", fine},
		{"http://10.0.0.1.example.org", fine}, // a name like any other
		{"http://two.example.org", fine},
		{"http://1.1.1.1", fine},
		{"https://[2606:4700::1111]:9000", fine},
		{"http://[::ffff:8.8.8.8]", fine},
		{"http://neighbour.example.org:443", fine}, // behind the same proxy
		{"http://larder.example.org:9000", fine},   // another service of that machine

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
		{"http://[fe80::1%25eth0]", wrong},
		{"http://[2606:4700::1111%25eth0]", wrong},
		{"http://[::ffff:8.8.8.8%25eth0]", wrong},
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
		{"https://203.0.114.7", refused}, // and where it is
		{"https://[::ffff:203.0.114.7]", refused},
		{"http://203.0.114.7:443", refused},

		{"", wrong},
		{"s3.example.org", wrong},
		{"//s3.example.org", wrong},
		{"http:s3.example.org", wrong},
		{"http:///s3.example.org", wrong},
		{"http:", wrong},
		{"http://", wrong},
		{"http://:80", wrong},
		{"http://?", wrong},
		{"file:///etc/passwd", wrong},
		{"file://s3.example.org/", wrong},
		{"gopher://s3.example.org:70/_x", wrong},
		{"ftp://s3.example.org", wrong},
		{"dict://s3.example.org:2628", wrong},
		{"unix:///run/x.sock", wrong},
		{"javascript:alert(1)", wrong},
		{"data:text/plain,x", wrong},
		{"http://s3.example.org:0", wrong},
		{"http://s3.example.org:00", wrong},
		{"http://s3.example.org:65536", wrong},
		{"http://s3.example.org:-1", wrong},
		{"http://s3.example.org:+80", wrong},
		{"http://s3.example.org:x", wrong},
		{"http://s3.example.org:", wrong},
		{"http://s3.example.org:80:80", wrong},
		{"http://user@s3.example.org", wrong},
		{"http://user:password@s3.example.org", wrong},
		{"http://@s3.example.org", wrong},
		{"http://s3.example.org@127.0.0.1", wrong},
		{"http://s3.example.org#@127.0.0.1", wrong},
		{`http://s3.example.org\@127.0.0.1`, wrong},
		{"http://s3.example.org/bucket", wrong},
		{"http://s3.example.org//", wrong},
		{"http://s3.example.org/%2f", wrong},
		{"http://s3.example.org?x=y", wrong},
		{"http://s3.example.org/?", wrong},
		{"http://s3.example.org#x", wrong},
		{"http://s3.example.org#", wrong},
		{" http://s3.example.org", wrong},
		{"http://s3.example.org ", wrong},
		{"http://s3.example.org\r\nHost: x", wrong},
		{"http://s3.example.org\t", wrong},
		{"http://a b.example.org", wrong},
		{"http://a,b.example.org", wrong},
		{"http://a;b.example.org", wrong},
		{"http://*.example.org", wrong},
		{"http://h%41.example.org", wrong},
		{"http://[::1", wrong},
		{"http://::1", wrong},
		{"http://[::1%25]", wrong},
		{"http://[127.0.0.1]", wrong},
		{"http://[::1]x", wrong},
		{"http://bücher.example", wrong},
		{"http://１２７.0.0.1", wrong},
		{"http://127。0。0。1", wrong},
		{"http://ⓛocalhost", wrong},
		{"http://" + strings.Repeat("a.", 123) + "b", fine},          // 254 bytes
		{"http://" + strings.Repeat("a.", 123) + "bc", fine},         // 255
		{"http://" + strings.Repeat("a.", 123) + "bcd", wrong},       // 256
		{"https://s3.example.org" + strings.Repeat("/", 250), wrong}, // however it is filled
	} {
		got, err := judge(policy, row.endpoint)
		if got != row.want {
			t.Errorf("%q is %s, want %s (%v)", row.endpoint, got, row.want, err)
			continue
		}
		if got == fine {
			continue
		}
		var told *fault.Error
		if !errors.As(err, &told) || !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v is no fault for a client", row.endpoint, err)
			continue
		}
		if first, seen := sentences[got]; seen && told.Message != first {
			t.Errorf("%q is told as %q, others as %q", row.endpoint, told.Message, first)
		}
		sentences[got] = told.Message
	}
}

func TestAllowedRangesMayBeReached(t *testing.T) {
	t.Parallel()
	policy := &egress.Policy{
		Resolver: hosts, Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("192.168.0.1/32"), netip.MustParsePrefix("fd00:1::/32")},
	}
	for endpoint, want := range map[string]string{
		"http://10.1.0.0": fine, "http://10.1.255.255:9000": fine, "http://10.0.255.255": refused, "http://10.2.0.0": refused,
		"http://[::ffff:10.1.2.3]": fine, "http://[::ffff:10.2.2.3]": refused, "http://inside.example.org": fine, "http://mapped.example.org": fine,
		"http://[fd00:1::]": fine, "http://[fd00:1:ffff:ffff:ffff:ffff:ffff:ffff]": fine, "http://[fd00:2::]": refused, "http://[fd00:0:ffff::]": refused,
		"http://[fd00:1::1%25eth0]": wrong, "http://[::10.1.2.3]": refused, "http://[64:ff9b::10.1.2.3]": refused, "http://[2002:a01:203::]": refused,
		"http://127.0.0.1": refused, "http://8.8.8.8": fine, "http://10.1.2.3:0": wrong, "http://0xa.1.2.3": refused, "http://167838211": refused,
	} {
		if got, err := judge(policy, endpoint); got != want {
			t.Errorf("%s is %s, want %s (%v)", endpoint, got, want, err)
		}
	}
	everything := &egress.Policy{Resolver: hosts, Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
	for endpoint, want := range map[string]string{
		"http://127.0.0.1": fine, "http://[::1]": fine, "http://localhost": fine, "http://169.254.169.254": fine,
		"http://0.0.0.0": refused, "http://[::]": refused, "http://[::ffff:0.0.0.0]": refused, "http://none.example.org": refused, // all of them this machine
		"http://224.0.0.1": refused, "http://[ff02::1]": refused, "http://[fe80::1%25eth0]": wrong, "http://127.1": refused,
	} {
		if got, err := judge(everything, endpoint); got != want {
			t.Errorf("with everything allowed %s is %s, want %s (%v)", endpoint, got, want, err)
		}
	}
}

func TestRefusedThoughAllowed(t *testing.T) {
	t.Parallel()
	mine := netip.MustParseAddrPort("10.1.2.3:8080")
	policy := &egress.Policy{
		Resolver: hosts, Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Refuse: func(to netip.AddrPort) bool { return to == mine },
		Ports: func(port uint16) bool { return port != 25 },
	}
	for endpoint, want := range map[string]string{
		"http://10.1.2.3:8080": refused, "http://10.1.2.3:8081": fine, "http://10.1.2.4:8080": fine, "http://[::ffff:10.1.2.3]:8080": refused,
		"http://inside.example.org:8080": refused, "http://inside.example.org": fine, "http://10.1.2.4:25": refused, "http://8.8.8.8:25": refused,
	} {
		if got, err := judge(policy, endpoint); got != want {
			t.Errorf("%s is %s, want %s (%v)", endpoint, got, want, err)
		}
	}
}

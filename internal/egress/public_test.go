package egress

import (
	"net/netip"
	"testing"
)

// Each special range at both ends, with the addresses just outside.
func TestPublicAtTheEdgesOfSpecialRanges(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name        string
		before      string // the last address before the range, "" if there is none or it is special too
		first, last string
		after       string // the first address after it, likewise
	}{
		{"this network", "", "0.0.0.0", "0.255.255.255", "1.0.0.0"},
		{"private 10/8", "9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"},
		{"carriers' NAT", "100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"},
		{"loopback", "126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"},
		{"link local", "169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"},
		{"Azure's services for its machines", "168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17"},
		{"private 172.16/12", "172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"},
		{"protocol assignments", "191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"},
		{"documentation 1", "192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"},
		{"AS112", "192.31.195.255", "192.31.196.0", "192.31.196.255", "192.31.197.0"},
		{"AMT", "192.52.192.255", "192.52.193.0", "192.52.193.255", "192.52.194.0"},
		{"6to4 relays", "192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"},
		{"private 192.168/16", "192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"},
		{"AS112, delegated", "192.175.47.255", "192.175.48.0", "192.175.48.255", "192.175.49.0"},
		{"benchmarks", "198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"},
		{"documentation 2", "198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"},
		{"documentation 3", "203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"},
		{"multicast", "223.255.255.255", "224.0.0.0", "239.255.255.255", ""},
		{"reserved and broadcast", "", "240.0.0.0", "255.255.255.255", ""},
		{"IPv6 before global unicast", "", "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"},
		{"protocol assignments and Teredo", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001::",
			"2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"},
		{"documentation", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::",
			"2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"},
		{"6to4", "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
			"2003::"},
		{"AS112 in IPv6", "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff", "2620:4f:8000::",
			"2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "2620:4f:8001::"},
		{"documentation, the later", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::",
			"3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"},
		{"IPv6 behind global unicast", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::",
			"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ""},
	} {
		for text, want := range map[string]bool{r.before: true, r.first: false, r.last: false, r.after: true} {
			if text == "" {
				continue
			}
			addr := netip.MustParseAddr(text)
			if got := Public(addr); got != want {
				t.Errorf("%s: %s is public: %v, want %v", r.name, text, got, want)
			}
			if mapped := netip.AddrFrom16(addr.As16()); addr.Is4() && Public(mapped) != want {
				t.Errorf("%s: %s is public: %v, want %v", r.name, mapped, !want, want)
			}
		}
	}
}

// Ranges with names of their own within the IPv6 ranges above.
func TestPublicIsNothingOfThese(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"loopback": "::1", "IPv4-compatible": "::8.8.8.8", "the last of them": "::255.255.255.255",
		"IPv4-translated": "::ffff:0:8.8.8.8",
		"NAT64":           "64:ff9b::8.8.8.8", "its first": "64:ff9b::", "its last": "64:ff9b::ffff:ffff",
		"local NAT64": "64:ff9b:1::a00:1", "the last of it": "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
		"discard": "100::", "the last of it too": "100::ffff:ffff:ffff:ffff", "dummies": "100:0:0:1::",
		"Teredo": "2001::1", "ORCHID": "2001:10::1", "ORCHIDv2": "2001:20::1",
		"benchmarks": "2001:2::1", "AMT": "2001:3::1", "6to4 of loopback": "2002:7f00:1::",
		"6to4 of a public address": "2002:808:808::", "segment routing": "5f00::1",
		"unique local": "fc00::", "the last": "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		"metadata of a cloud": "fd00:ec2::254", "link local": "fe80::1",
		"the last link local": "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "site local": "fec0::",
		"the last site local": "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "multicast": "ff02::1",
		"with a zone": "2606:4700::1%eth0", "mapped, with a zone": "::ffff:8.8.8.8%eth0",
	} {
		if Public(netip.MustParseAddr(text)) {
			t.Errorf("%s: %s counts as public", name, text)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("the invalid address counts as public")
	}
	for _, text := range []string{"8.8.8.8", "1.1.1.1", "::ffff:8.8.8.8", "2606:4700::1111",
		"2a00:1450:4001:800::200e"} {
		if !Public(netip.MustParseAddr(text)) {
			t.Errorf("%s does not count as public", text)
		}
	}
}

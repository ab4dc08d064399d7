package egress

import (
	"net/netip"
	"slices"
)

// Public reports whether an address can belong to a host on the internet. An address that contains
// another address is not public, whatever that address is (IANA IPv4 and IPv6 Special-Purpose
// Address Registries, RFC 6890; abuse case C61).
func Public(addr netip.Addr) bool {
	if !addr.IsValid() || addr.Zone() != "" {
		return false
	}
	addr = addr.Unmap() // IPv4 written as IPv6
	if addr.Is6() && !globalUnicast.Contains(addr) {
		return false
	}
	return !slices.ContainsFunc(specialRanges, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}

// globalUnicast is the only part of IPv6 from which public addresses are assigned (RFC 4291). It
// contains no loopback, mapped, NAT64, unique local, link local and multicast addresses.
var globalUnicast = netip.MustParsePrefix("2000::/3")

var specialRanges = parsePrefixes(
	"0.0.0.0/8",         // this network
	"10.0.0.0/8",        // private
	"100.64.0.0/10",     // carriers' NAT
	"127.0.0.0/8",       // loopback
	"169.254.0.0/16",    // link local, including the metadata of clouds
	"168.63.129.16/32",  // Azure's services for its machines, including metadata; routed like a public address there
	"172.16.0.0/12",     // private
	"192.0.0.0/24",      // protocol assignments
	"192.0.2.0/24",      // documentation
	"192.31.196.0/24",   // AS112
	"192.52.193.0/24",   // AMT
	"192.88.99.0/24",    // 6to4 relays
	"192.168.0.0/16",    // private
	"192.175.48.0/24",   // AS112
	"198.18.0.0/15",     // benchmarks
	"198.51.100.0/24",   // documentation
	"203.0.113.0/24",    // documentation
	"224.0.0.0/4",       // multicast
	"240.0.0.0/4",       // reserved, and broadcast
	"2001::/23",         // protocol assignments, including Teredo
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4: contains an IPv4 address
	"2620:4f:8000::/48", // AS112
	"3fff::/20",         // documentation
)

// parsePrefixes parses constant CIDRs; it panics on a wrong one.
func parsePrefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

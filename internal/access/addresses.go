package access

import (
	"net/netip"
	"slices"
	"strings"

	"larder/internal/fault"
)

// maxAddresses bounds the address list of a rule or key.
const maxAddresses = 100

// ParseAddresses parses the list of addresses that a rule or a key allows: at most 100 IP addresses
// and CIDRs. Duplicates are dropped. An empty list gives nil and means any address (abuse case
// C59). Fault: Invalid.
func ParseAddresses(list []string) ([]netip.Prefix, error) {
	if len(list) > maxAddresses {
		return nil, fault.Newf(fault.Invalid, "At most %d allowed addresses can be given.", maxAddresses)
	}
	var prefixes []netip.Prefix
	for _, s := range list {
		prefix, ok := parsePrefix(strings.TrimSpace(s))
		if !ok {
			return nil, fault.New(fault.Invalid,
				"An allowed address is an IP address such as 192.0.2.7 or a range such as 192.0.2.0/24.")
		}
		if !slices.Contains(prefixes, prefix) {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes, nil
}

// JoinAddresses returns a list of address ranges in the form in which the database stores it,
// separated by commas.
func JoinAddresses(prefixes []netip.Prefix) string {
	texts := make([]string, len(prefixes))
	for i, prefix := range prefixes {
		texts[i] = prefix.String()
	}
	return strings.Join(texts, ",")
}

// parsePrefix parses an address or a CIDR, and returns false for any other text. IPv4 mapped into
// IPv6 becomes IPv4, like the addresses that it is compared with.
func parsePrefix(s string) (netip.Prefix, bool) {
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		addr, err := netip.ParseAddr(s)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, false
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	if prefix.Addr().Is4In6() {
		if prefix.Bits() < 96 {
			return netip.Prefix{}, false // covers more than IPv4 addresses, which is a mistake
		}
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
	}
	return prefix.Masked(), true
}

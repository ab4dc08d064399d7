package access

import (
	"net/netip"
	"slices"
	"strings"

	"larder/internal/fault"
)

// maxAddresses bounds the list of a rule or key.
const maxAddresses = 100

// ParseAddresses reads a list of allowed addresses: IP addresses and CIDRs. Equal ones collapse, an
// empty list is nil and means any address (abuse case C59). Fault: Invalid.
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

// JoinAddresses writes a list as it is stored; ParseAddresses of its parts gives it back.
func JoinAddresses(prefixes []netip.Prefix) string {
	texts := make([]string, len(prefixes))
	for i, prefix := range prefixes {
		texts[i] = prefix.String()
	}
	return strings.Join(texts, ",")
}

// parsePrefix reads an address or a CIDR. What maps IPv4 into IPv6 becomes IPv4, as the addresses
// do that it is compared with.
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
			return netip.Prefix{}, false // holds more than IPv4; nobody means that
		}
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
	}
	return prefix.Masked(), true
}

package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"larder/internal/secret"
)

type prefixList = []netip.Prefix

// form is the form of a value. It decides which TOML values are accepted and what the help shows.
type form int

const (
	formText form = iota
	formList
	formBool
	formInteger
	formSize
	formDuration
)

// rule parses a value and stores it. Its errors complete the sentence "LARDER_X …" and do not
// repeat the value.
type rule struct {
	form  form
	store func(c *Config, value string) error
}

// text returns the rule that stores in a field what read returns for the value.
func text(read func(string) (string, error), field func(*Config) *string) rule {
	return rule{formText, func(c *Config, value string) (err error) {
		*field(c), err = read(value)
		return err
	}}
}

// secretText is text for a field with a secret.
func secretText(read func(string) (string, error), field func(*Config) *secret.Text) rule {
	return rule{formText, func(c *Config, value string) error {
		plain, err := read(value)
		*field(c) = secret.Text(plain)
		return err
	}}
}

// choice returns the rule that accepts one of the words and stores its value in a field.
func choice[V comparable](words map[string]V, field func(*Config) *V) rule {
	return rule{formText, func(c *Config, value string) error {
		v, ok := words[value]
		if !ok {
			return fmt.Errorf("must be one of %s", strings.Join(slices.Sorted(maps.Keys(words)), ", "))
		}
		*field(c) = v
		return nil
	}}
}

// boolean returns the rule that stores true or false in a field.
func boolean(field func(*Config) *bool) rule {
	return rule{formBool, func(c *Config, value string) (err error) {
		if *field(c), err = strconv.ParseBool(value); err != nil {
			return errors.New("must be true or false")
		}
		return nil
	}}
}

// integer returns the rule that stores a whole number from least to most in a field.
func integer[N int | int64](least, most N, field func(*Config) *N) rule {
	return rule{formInteger, func(c *Config, value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < int64(least) || n > int64(most) {
			return fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		*field(c) = N(n)
		return nil
	}}
}

// size returns the rule that stores a number of bytes, at least least, in a field.
func size(least int64, field func(*Config) *int64) rule {
	return rule{formSize, func(c *Config, value string) error {
		n, err := parseSize(value)
		if err != nil {
			return err
		}
		if n < least {
			return fmt.Errorf("must be %d or more", least)
		}
		*field(c) = n
		return nil
	}}
}

// duration returns the rule that stores a duration of at least least in a field.
func duration(least time.Duration, field func(*Config) *time.Duration) rule {
	return durationWithin(least, maxDuration, field)
}

// durationUpTo returns the rule that stores a duration from 0 to most in a field.
func durationUpTo(most time.Duration, field func(*Config) *time.Duration) rule {
	return durationWithin(0, most, field)
}

// durationWithin returns the rule that stores a duration from least to most in a field.
func durationWithin(least, most time.Duration, field func(*Config) *time.Duration) rule {
	return rule{formDuration, func(c *Config, value string) error {
		d, err := parseDuration(value)
		if err != nil {
			return err
		}
		if d < least || d > most {
			return fmt.Errorf("must be from %s to %dd", least, most/day)
		}
		*field(c) = d
		return nil
	}}
}

// prefixes returns the rule that stores a list of CIDRs, separated by commas, in a field. An
// address stands for the prefix of that address only.
func prefixes(field func(*Config) *prefixList) rule {
	return rule{formList, func(c *Config, value string) error {
		var list prefixList
		for part := range strings.SplitSeq(value, ",") {
			part = strings.TrimSpace(part)
			if part == "" {
				continue
			}
			prefix, err := parsePrefix(part)
			if err != nil {
				return fmt.Errorf("holds %q, which is neither a CIDR such as 10.0.0.0/8 nor an address", part)
			}
			list = append(list, prefix)
		}
		*field(c) = list
		return nil
	}}
}

// parsePrefix parses a CIDR or an address. It clears the bits beyond the length, and converts IPv4
// written as IPv6 to IPv4, which would match nothing otherwise.
func parsePrefix(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		addr, err := netip.ParseAddr(s)
		if err != nil {
			return netip.Prefix{}, err
		}
		if addr.Zone() != "" {
			return netip.Prefix{}, errors.New("zone")
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	if addr := prefix.Addr(); addr.Is4In6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
	}
	return prefix.Masked(), nil
}

// parseSize parses a number of bytes: a whole number, a number with KiB, MiB or GiB, or -1 for no
// limit.
func parseSize(value string) (int64, error) {
	wrong := errors.New("must be a number of bytes, or a number with KiB, MiB or GiB")
	if value == "-1" {
		return -1, nil
	}
	digits, shift := value, 0
	for unit, bits := range map[string]int{"KiB": 10, "MiB": 20, "GiB": 30} {
		if before, ok := strings.CutSuffix(value, unit); ok {
			digits, shift = strings.TrimRight(before, " "), bits
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errors.New("is too large")
	case err != nil:
		return 0, wrong
	}
	if n > math.MaxInt64>>shift {
		return 0, errors.New("is too large")
	}
	return int64(n << shift), nil
}

// parseDuration parses the durations of time.ParseDuration, and whole days such as 90d. A number of
// days beyond maxDuration becomes a day more than that, which the rules refuse.
func parseDuration(value string) (time.Duration, error) {
	if digits, ok := strings.CutSuffix(value, "d"); ok {
		days, err := strconv.ParseUint(digits, 10, 31)
		if err == nil {
			return time.Duration(min(days, uint64(maxDuration/day)+1)) * day, nil
		}
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		return 0, errors.New("must be a duration such as 30s, 1h30m or 90d")
	}
	return d, nil
}

package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"larder/internal/account"
	"larder/internal/apikey"
	"larder/internal/fault"
	"larder/internal/kv"
)

// limit is which rate limit a route falls under (specification: Limits).
type limitClass int

const (
	defaultLimit  limitClass = iota // the configurable limit: per user when signed in, else per IP
	authLimit                       // the strict limit of endpoints that take or mail a credential; always on
	transferLimit                   // file bytes and uploads: 20 times the configurable limit, keys per key
	// the page of the web UI, which costs one small query, and its files, which cost none
	unlimited
)

const (
	bytesFactor     = 20
	maxWrongAnswers = 10 // wrong passwords or key secrets a minute, IP and target
	maxWrongKeys    = 60 // wrong or unknown keys a minute and IP

	// networkFactor is how many times the allowance of one address an IPv6 /48
	// has in all, since one customer may hold all 65,536 /64 of it. Free mode has
	// the same proportion (sessionsNetwork).
	networkFactor = 5
)

// takeRequest takes one request from the route's bucket and tells the client how
// it stands. Fault: RateLimited.
func (c *call) takeRequest() error {
	var result kv.Result
	var err error
	switch c.route.limit {
	case unlimited:
		return nil
	case authLimit:
		result, err = c.takeByAddress(c.ctx(), "auth", c.a.AuthRateLimit, 1)
	default:
		settings, unread := c.limitSettings()
		if unread != nil {
			return unread
		}
		if !settings.RateLimitEnabled {
			return nil
		}
		limit, name := settings.RateLimitRequestsPerMinute, "all "+c.limitKey()
		if c.route.limit == transferLimit {
			limit, name = limit*bytesFactor, "bytes "+c.limitKey()
		}
		result, err = c.a.Counters.Take(c.ctx(), name, limit, time.Minute, 1)
	}
	if err != nil {
		return err
	}
	setLimitHeaders(c.w.Header(), result)
	if !result.Allowed {
		return &fault.Error{Kind: fault.RateLimited, Message: "Too many requests. Please wait a moment.",
			RetryAfter: result.RetryAfter}
	}
	return nil
}

// limitKey names whose requests are counted together.
func (c *call) limitKey() string {
	switch {
	case c.key != nil:
		return "key:" + c.key.ID
	case c.session != nil:
		return "user:" + c.user.ID
	}
	return "ip:" + addressKey(c.ip)
}

// hashSource returns who causes the hash of a password, for the turns at hashing.
func (c *call) hashSource() account.Source {
	if c.user.ID != "" {
		return account.AccountSource(c.user.ID)
	}
	return account.AddressSource(addressKey(c.ip))
}

// addressKey counts IPv6 by /64, since a household has a whole one (abuse case C56).
func addressKey(ip netip.Addr) string {
	if ip.Is6() {
		if prefix, err := ip.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return ip.String()
}

// takeByAddress spends cost units from the bucket of the client's address in a class, which holds
// limit units and refills within a minute, and for IPv6 from the bucket of its /48 as well. The /48
// is asked first, so that its addresses can't fill the store with buckets. If either refuses,
// nothing is spent: an address that is over its limit takes nothing from its neighbours.
// Cost 0 looks and a negative cost gives back, as in kv.Store.
func (c *call) takeByAddress(ctx context.Context, class string, limit, cost int) (kv.Result, error) {
	address, network := class+":"+addressKey(c.ip), networkKey(c.ip)
	if network == "" {
		return c.a.Counters.Take(ctx, address, limit, time.Minute, cost)
	}
	network = class + ":" + network
	around, err := c.a.Counters.Take(ctx, network, limit*networkFactor, time.Minute, cost)
	if err != nil || !around.Allowed {
		return around, err
	}
	result, err := c.a.Counters.Take(ctx, address, limit, time.Minute, cost)
	if cost > 0 && (err != nil || !result.Allowed) {
		_, kept := c.a.Counters.Take(context.WithoutCancel(ctx), network, limit*networkFactor, time.Minute, -cost)
		err = errors.Join(err, kept)
	}
	return result, err
}

// networkKey is the /48 of an IPv6 address, "" for others.
func networkKey(ip netip.Addr) string {
	if !ip.Is6() {
		return ""
	}
	prefix, err := ip.Prefix(48)
	if err != nil {
		return ""
	}
	return prefix.String()
}

func setLimitHeaders(h http.Header, result kv.Result) {
	h.Set("RateLimit-Limit", strconv.Itoa(result.Limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(result.Remaining))
	h.Set("RateLimit-Reset", strconv.Itoa(int(math.Ceil(result.Reset.Seconds()))))
}

// limitKeyAttempts runs check, which authenticates the key of that id, and limits wrong
// keys: ten wrong secrets a minute for an address and id, sixty wrong or unknown keys a
// minute for an address. Beyond the first limit the id is refused unchecked. Beyond the
// second a key is refused unchecked unless it is remembered, so that check doesn't need
// the database (see apikey.Service.Remembers).
//
// Wrong keys are counted after the check, for the address first: beyond its limit the ids that a
// client invents make no buckets. Several at once may be checked before the first one counts. That
// is harmless, since a secret has 256 bits and no slow hash, and right keys are never refused for
// other right ones that are checked at the same moment. Faults: RateLimited, and those of check.
func (c *call) limitKeyAttempts(id string, remembered bool, check func() error) error {
	target := "wrong key:" + id + ":" + addressKey(c.ip)
	if err := attemptFault(c.a.Counters.Take(c.ctx(), target, maxWrongAnswers, time.Minute, 0)); err != nil {
		return err
	}
	if !remembered {
		if err := attemptFault(c.takeByAddress(c.ctx(), "keys", maxWrongKeys, 0)); err != nil {
			return err
		}
	}
	err := check()
	if errors.Is(err, apikey.ErrEnded) { // the right secret of a key that has ended: no guess
		return err
	}
	if fault.Is(err, fault.InvalidToken) {
		uncancelled := context.WithoutCancel(c.ctx()) // a client that hangs up is counted, too
		if refused := attemptFault(c.takeByAddress(uncancelled, "keys", maxWrongKeys, 1)); refused != nil {
			return refused
		}
		if _, counted := c.a.Counters.Take(uncancelled, target, maxWrongAnswers, time.Minute, 1); counted != nil {
			return counted
		}
	}
	return err
}

// limitPasswordAttempts limits wrong passwords: ten a minute for an IP and each of addresses, and
// for each of everywhere whatever the IP (see guess). It takes a place of every one of them before
// it calls check, and gives the places back unless the password is wrong. So of any number at once,
// on any number of replicas, no more are checked than there are places.
func (c *call) limitPasswordAttempts(byAddress, everywhere []string, check func() error) error {
	for i, target := range byAddress {
		if err := c.countAddressAttempt(target, 1); err != nil {
			return errors.Join(err, c.refundAddressAttempts(byAddress[:i]))
		}
	}
	err := c.limitAttempts(everywhere, fault.InvalidPassword, check)
	if fault.Is(err, fault.InvalidPassword) {
		return err
	}
	return errors.Join(err, c.refundAddressAttempts(byAddress))
}

// refundAddressAttempts takes back what was counted for answers that were not wrong, also where the
// client has gone meanwhile.
func (c *call) refundAddressAttempts(targets []string) error {
	for _, target := range targets {
		if _, err := c.takeByAddress(context.WithoutCancel(c.ctx()), "wrong "+target, maxWrongAnswers, -1); err != nil {
			return err
		}
	}
	return nil
}

// countAddressAttempt takes places for wrong answers. Fault: RateLimited.
func (c *call) countAddressAttempt(target string, cost int) error {
	return attemptFault(c.takeByAddress(c.ctx(), "wrong "+target, maxWrongAnswers, cost))
}

// attemptFault returns the fault for a count of wrong answers that has
// reached its limit: RateLimited.
func attemptFault(seen kv.Result, err error) error {
	if err != nil {
		return err
	}
	if !seen.Allowed {
		return &fault.Error{Kind: fault.RateLimited, Message: "Too many wrong answers. Please wait a moment.",
			RetryAfter: seen.RetryAfter}
	}
	return nil
}

// clientIP is the address that limits and allowedIps go by: the peer's, or behind trusted
// proxies the right-most address in X-Forwarded-For that is not itself a trusted proxy
// (abuse cases C55, C59).
func (a *API) clientIP(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	ip := peer.Addr().Unmap().WithZone("")
	if !a.isTrustedProxy(ip) {
		return ip
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop := strings.TrimSpace(hops[i])
		addr, err := netip.ParseAddr(hop)
		if err != nil {
			withPort, err := netip.ParseAddrPort(hop)
			if err != nil {
				return ip // what stands further left was said by nobody we trust
			}
			addr = withPort.Addr()
		}
		ip = addr.Unmap().WithZone("")
		if !a.isTrustedProxy(ip) {
			return ip
		}
	}
	return ip
}

func (a *API) isTrustedProxy(ip netip.Addr) bool {
	for _, prefix := range a.TrustedProxies {
		if prefix.Contains(ip) {
			return true
		}
	}
	return false
}

// overTLS reports whether the client speaks https with us or with a trusted proxy in front.
func (a *API) overTLS(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && a.isTrustedProxy(peer.Addr().Unmap().WithZone("")) &&
		strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

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

// limitClass is the kind of rate limit that applies to a route (specification: Limits).
type limitClass int

const (
	defaultLimit  limitClass = iota // the configurable limit: per user when signed in, else per IP
	authLimit                       // the strict limit of endpoints that take or mail a credential; always on
	transferLimit                   // file bytes and uploads: 20 times the configurable limit, keys per key
	// the page of the web UI, which costs one small query, and its files, which cost no query
	unlimited
)

const (
	bytesFactor     = 20
	maxWrongAnswers = 10 // wrong passwords or key secrets a minute, IP and target
	maxWrongKeys    = 60 // wrong or unknown keys a minute and IP

	// networkFactor is the allowance of an IPv6 /48 as a multiple of the allowance of one address,
	// since one customer may hold all 65,536 /64 networks of it. Free mode uses the same proportion
	// (sessionsPerNetwork).
	networkFactor = 5
)

// takeRequest counts the request against the rate limit of the route's class, and sets the headers
// that tell the client the state of its limit. Fault: RateLimited when the limit is reached.
func (c *call) takeRequest() error {
	var result kv.Result
	var err error
	switch c.route.limit {
	case unlimited:
		return nil
	case authLimit:
		result, err = c.takeByAddress(c.ctx(), "auth", c.a.AuthRateLimit, 1)
	default:
		settings, readErr := c.limitSettings()
		if readErr != nil {
			return readErr
		}
		if !settings.RateLimitEnabled {
			return nil
		}
		limit, class := settings.RateLimitRequestsPerMinute, "all "
		if c.route.limit == transferLimit {
			limit, class = limit*bytesFactor, "bytes "
		}
		result, err = c.a.Counters.Take(c.ctx(), c.limitKey(class), limit, time.Minute, 1)
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

// limitKey returns the name under which requests of a class by the caller are counted together: the
// class, then key:, user: or ip:, followed by the id or the address.
func (c *call) limitKey(class string) string {
	switch {
	case c.key != nil:
		return class + "key:" + c.key.ID
	case c.session != nil:
		return class + "user:" + c.user.ID
	case c.ip.Is4():
		return class + "ip:" + c.ipText
	}
	return class + "ip:" + addressKey(c.ip)
}

// hashSource returns the account, or for visitors the address, on whose behalf a password is
// hashed. Hashing is slow, so sources take turns at it.
func (c *call) hashSource() account.Source {
	if c.user.ID != "" {
		return account.AccountSource(c.user.ID)
	}
	return account.AddressSource(addressKey(c.ip))
}

// addressKey returns the text by which an address is counted: an IPv4 address itself, and the /64
// of an IPv6 address, since a household has a whole /64 (abuse case C56).
func addressKey(ip netip.Addr) string {
	if ip.Is6() {
		if prefix, err := ip.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return ip.String()
}

// takeByAddress takes cost units from the bucket of the client's address in a class, such as
// "auth". The bucket holds limit units and refills within a minute. For IPv6 it takes them from the
// bucket of the /48 as well, and from that first, so that the addresses of a /48 can't fill the
// store with buckets. If either refuses, nothing is taken, so that an address over its limit takes
// nothing from its neighbors. Cost 0 only looks and a negative cost gives back, as in kv.Store.
func (c *call) takeByAddress(ctx context.Context, class string, limit, cost int) (kv.Result, error) {
	address, network := class+":"+addressKey(c.ip), networkKey(c.ip)
	if network == "" {
		return c.a.Counters.Take(ctx, address, limit, time.Minute, cost)
	}
	network = class + ":" + network
	networkResult, err := c.a.Counters.Take(ctx, network, limit*networkFactor, time.Minute, cost)
	if err != nil || !networkResult.Allowed {
		return networkResult, err
	}
	result, err := c.a.Counters.Take(ctx, address, limit, time.Minute, cost)
	if cost > 0 && (err != nil || !result.Allowed) {
		_, refundErr := c.a.Counters.Take(context.WithoutCancel(ctx), network, limit*networkFactor, time.Minute, -cost)
		err = errors.Join(err, refundErr)
	}
	return result, err
}

// networkKey returns the text by which the network of an address is counted: the /48 of an IPv6
// address, "" for other addresses.
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

// setLimitHeaders tells the client the size of its rate limit, the requests that are left, and the
// seconds until all are available again.
func setLimitHeaders(h http.Header, result kv.Result) {
	values := []string{ // one allocation for all
		strconv.Itoa(result.Limit), strconv.Itoa(result.Remaining),
		strconv.Itoa(int(math.Ceil(result.Reset.Seconds()))),
	}
	h["Ratelimit-Limit"] = values[0:1:1]
	h["Ratelimit-Remaining"] = values[1:2:2]
	h["Ratelimit-Reset"] = values[2:3:3]
}

// limitKeyAttempts runs check, which authenticates the key of that id, and limits wrong keys: ten
// wrong secrets a minute for an address and id, sixty wrong or unknown keys a minute for an
// address. Beyond the first limit the id is refused unchecked. Beyond the second limit a key is
// refused unchecked unless it is remembered: cached, so that check doesn't need the database (see
// apikey.Service.IsCached).
//
// It counts wrong keys after the check, for the address first: beyond the address's limit, invented
// ids make no buckets. Several concurrent keys may be checked before the first one counts. That is
// harmless, since a secret has 256 bits and no slow hash, and concurrent requests with right keys
// never cause a refusal. Faults: RateLimited, and those of check.
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
	if errors.Is(err, apikey.ErrEnded) { // the right secret of an ended key is no guess
		return err
	}
	if fault.Is(err, fault.InvalidToken) {
		uncancelled := context.WithoutCancel(c.ctx()) // a client that hangs up is counted, too
		if limitErr := attemptFault(c.takeByAddress(uncancelled, "keys", maxWrongKeys, 1)); limitErr != nil {
			return limitErr
		}
		if _, countErr := c.a.Counters.Take(uncancelled, target, maxWrongAnswers, time.Minute, 1); countErr != nil {
			return countErr
		}
	}
	return err
}

// limitPasswordAttempts limits wrong passwords: ten a minute for the client's address and each
// target of byAddress, and for each target of everywhere from all addresses together (see
// limitAttempts). It counts an attempt for every target before it calls check, and takes the
// attempts back unless the password is wrong. So the limits hold for any number of concurrent calls
// on any number of replicas. Faults: RateLimited, and those of check.
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

// refundAddressAttempts takes back the attempts that countAddressAttempt counted, even if the
// client has disconnected.
func (c *call) refundAddressAttempts(targets []string) error {
	for _, target := range targets {
		if _, err := c.takeByAddress(context.WithoutCancel(c.ctx()), "wrong "+target, maxWrongAnswers, -1); err != nil {
			return err
		}
	}
	return nil
}

// countAddressAttempt counts cost attempts of the client's address at a target, at most
// maxWrongAnswers a minute. A target names what the password opens. Fault: RateLimited.
func (c *call) countAddressAttempt(target string, cost int) error {
	return attemptFault(c.takeByAddress(c.ctx(), "wrong "+target, maxWrongAnswers, cost))
}

// attemptFault turns the answer of a count of wrong answers into an error: nil below the limit, the
// fault RateLimited at the limit, err if counting failed.
func attemptFault(seen kv.Result, err error) error {
	if err != nil {
		return err
	}
	if !seen.Allowed {
		return &fault.Error{Kind: fault.RateLimited, Message: "Too many failed attempts. Please wait a moment.",
			RetryAfter: seen.RetryAfter}
	}
	return nil
}

// clientIP returns the address that limits and allowedIps apply to: the peer's address, or behind
// trusted proxies the right-most address in X-Forwarded-For that is not a trusted proxy (abuse
// cases C55, C59). It returns the zero value when the peer has no IP address.
func (a *API) clientIP(r *http.Request) netip.Addr {
	ip, known := peerOf(r)
	if !known || !a.isTrustedProxy(ip) {
		return ip
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop := strings.TrimSpace(hops[i])
		addr, err := netip.ParseAddr(hop)
		if err != nil {
			withPort, err := netip.ParseAddrPort(hop)
			if err != nil {
				return ip // no trusted proxy added the entries further left
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

// peerOf returns the address that the connection of a request comes from, a proxy's if there is one
// in front, and whether it is known.
func peerOf(r *http.Request) (ip netip.Addr, known bool) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return peer.Addr().Unmap().WithZone(""), err == nil
}

// isTrustedProxy reports whether an address is in LARDER_TRUSTED_PROXIES: only then the headers
// that a proxy sets are believed.
func (a *API) isTrustedProxy(ip netip.Addr) bool {
	for _, prefix := range a.TrustedProxies {
		if prefix.Contains(ip) {
			return true
		}
	}
	return false
}

// overTLS reports whether the client uses https, either to this service or, by X-Forwarded-Proto,
// to a trusted proxy in front of it.
func (a *API) overTLS(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && a.isTrustedProxy(peer.Addr().Unmap().WithZone("")) &&
		strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

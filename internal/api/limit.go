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

	"larder/internal/apikey"
	"larder/internal/fault"
	"larder/internal/kv"
)

// bucket is which rate limit a route falls under (specification: Limits).
type bucket int

const (
	perUser   bucket = iota // the configurable limit: per user when signed in, else per IP
	perIP                   // the strict limit of endpoints that take or mail a credential; always on
	forBytes                // file bytes and uploads: 20 times the configurable limit, keys per key
	unlimited               // the page of the web UI, which costs one small query, and its files, which cost none
)

const (
	bytesFactor  = 20
	wrongAnswers = 10 // wrong passwords or key secrets a minute, IP and target
)

// limit takes one request from the route's bucket and tells the client how it stands. Fault: RateLimited.
func (c *call) limit() error {
	var name string
	var limit int
	switch c.route.bucket {
	case unlimited:
		return nil
	case perIP:
		name, limit = "auth:"+addressKey(c.ip), c.a.AuthRateLimit
	default:
		settings, err := c.limitSettings()
		if err != nil {
			return err
		}
		if !settings.RateLimitEnabled {
			return nil
		}
		limit, name = settings.RateLimitRequestsPerMinute, "all:"+c.limitKey()
		if c.route.bucket == forBytes {
			limit, name = limit*bytesFactor, "bytes:"+c.limitKey()
		}
	}
	result, err := c.a.Counters.Take(c.ctx(), name, limit, time.Minute, 1)
	if err != nil {
		return err
	}
	tell(c.w.Header(), result)
	if !result.Allowed {
		return &fault.Error{Kind: fault.RateLimited, Message: "Too many requests. Please wait a moment.", RetryAfter: result.RetryAfter}
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

// addressKey counts IPv6 by /64, since a household has a whole one (abuse case C56).
func addressKey(ip netip.Addr) string {
	if ip.Is6() {
		if prefix, err := ip.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return ip.String()
}

func tell(h http.Header, result kv.Result) {
	h.Set("RateLimit-Limit", strconv.Itoa(result.Limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(result.Remaining))
	h.Set("RateLimit-Reset", strconv.Itoa(int(math.Ceil(result.Reset.Seconds()))))
}

// guessKey limits wrong secrets of a key: only a wrong one is counted, after ten a minute for an IP and key nothing is checked any more. Several at
// once may all be checked before the first counts: nobody guesses 256 bits, checking them costs no slow hash, and so clients that are right, as
// many requests as they make at once, cost a single look at the counter.
func (c *call) guessKey(id string, check func() error) error {
	target := "key:" + id
	if err := c.takeGuess(target, 0); err != nil {
		return err
	}
	err := check()
	if errors.Is(err, apikey.ErrEnded) { // the right secret of a key that has ended: a forgotten client, not somebody who guesses
		return err
	}
	if fault.Is(err, fault.InvalidToken) {
		if _, counted := c.a.Counters.Take(c.ctx(), c.guesses(target), wrongAnswers, time.Minute, 1); counted != nil {
			return counted
		}
	}
	return err
}

// guessPassword limits wrong passwords, ten a minute for an IP and each of targets. A place is taken with every one of them before anything is checked,
// and given back unless the password is wrong: of any number at once, on any number of replicas, no more are checked than there are places.
func (c *call) guessPassword(targets []string, check func() error) error {
	for i, target := range targets {
		if err := c.takeGuess(target, 1); err != nil {
			return errors.Join(err, c.giveBack(targets[:i]))
		}
	}
	err := check()
	if fault.Is(err, fault.InvalidPassword) {
		return err
	}
	return errors.Join(err, c.giveBack(targets))
}

// giveBack takes back what was counted for answers that were not wrong, also where the client has gone meanwhile.
func (c *call) giveBack(targets []string) error {
	for _, target := range targets {
		if _, err := c.a.Counters.Take(context.WithoutCancel(c.ctx()), c.guesses(target), wrongAnswers, time.Minute, -1); err != nil {
			return err
		}
	}
	return nil
}

// takeGuess takes places for wrong answers, or looks for one where cost is 0. Fault: RateLimited.
func (c *call) takeGuess(target string, cost int) error {
	seen, err := c.a.Counters.Take(c.ctx(), c.guesses(target), wrongAnswers, time.Minute, cost)
	if err != nil {
		return err
	}
	if !seen.Allowed {
		return &fault.Error{Kind: fault.RateLimited, Message: "Too many wrong answers. Please wait a moment.", RetryAfter: seen.RetryAfter}
	}
	return nil
}

func (c *call) guesses(target string) string { return "wrong:" + target + ":" + addressKey(c.ip) }

// clientIP is the address that limits and allowedIps go by: the peer's, or behind trusted proxies the right-most address in X-Forwarded-For
// that is not itself a trusted proxy (abuse cases C55, C59).
func (a *API) clientIP(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	ip := peer.Addr().Unmap().WithZone("")
	if !a.trusted(ip) {
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
		if !a.trusted(ip) {
			return ip
		}
	}
	return ip
}

func (a *API) trusted(ip netip.Addr) bool {
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
	return err == nil && a.trusted(peer.Addr().Unmap().WithZone("")) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

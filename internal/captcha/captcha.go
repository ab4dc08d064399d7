// Package captcha verifies bot-check tokens: it asks the verify address whether a token was issued
// to a person.
//
// Turnstile, hCaptcha and reCAPTCHA use the same protocol (`siteverify`): the request contains
// secret, response and remoteip, and the field `success` of the answer decides. The package does
// not check for which host or action a token was issued. It stores no token: the verify address
// decides whether a token may be used twice.
//
// It fails closed: when the verify address does not answer, or answers with something else, the
// check fails with a message that blames the service and not the visitor.
package captcha

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"larder/internal/egress"
	"larder/internal/fault"
	"larder/internal/secret"
)

const (
	// MaxToken is the maximum length of a token in bytes. The services named above use at most
	// 2048.
	MaxToken    = 4096
	maxAnswer   = 64 << 10
	askTimeout  = 10 * time.Second // for the whole request
	maxParallel = 32               // parallel requests; further callers wait within askTimeout
)

// Config holds the settings of a Verifier.
type Config struct {
	Address string // http(s), "" for none
	Secret  secret.Text
	Egress  *egress.Policy
}

// Verifier verifies tokens at a verify address. It is safe for concurrent use.
type Verifier struct {
	address string
	secret  secret.Text
	client  *http.Client
	slots   chan struct{}
	timeout time.Duration
}

// New returns a Verifier, whose requests obey cfg.Egress.
func New(cfg Config) *Verifier {
	return &Verifier{address: cfg.Address, secret: cfg.Secret, client: cfg.Egress.Client(),
		slots: make(chan struct{}, maxParallel), timeout: askTimeout}
}

// Configured reports whether a verify address is configured.
func (v *Verifier) Configured() bool { return v.address != "" }

// Check returns nil if the verify address accepts the token, which a bot check in the visitor's
// browser issued. ip is the address of the client, and may be invalid for none. Faults: Invalid for
// a token that is missing, too long or refused; Unavailable when the verify address gives no usable
// answer.
func (v *Verifier) Check(ctx context.Context, token string, ip netip.Addr) error {
	switch {
	case !v.Configured():
		return unavailable(errors.New("no verify address is configured"))
	case token == "" || len(token) > MaxToken:
		return refused()
	}
	accepted, err := v.ask(ctx, token, ip)
	switch {
	case err != nil:
		return unavailable(err)
	case !accepted:
		return refused()
	}
	return nil
}

// refused returns the fault Invalid of a token that proves no person.
func refused() error {
	return fault.InvalidField("captchaToken", "The bot check was not passed. Please do it again.")
}

// unavailable returns the fault Unavailable; the visitor does not learn the cause.
func unavailable(cause error) error {
	return fault.New(fault.Unavailable, "The bot check is not available at the moment. Please try again later.").
		WithCause(fmt.Errorf("captcha: %w", cause))
}

// ask sends the token to the verify address and returns whether it accepts the token. The error
// means that it gave no usable answer.
func (v *Verifier) ask(ctx context.Context, token string, ip netip.Addr) (accepted bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	select {
	case v.slots <- struct{}{}:
		defer func() { <-v.slots }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	form := url.Values{"secret": {v.secret.Reveal()}, "response": {token}}
	if ip.IsValid() {
		form.Set("remoteip", ip.String())
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, v.address, strings.NewReader(form.Encode()))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	response, err := v.client.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return false, fmt.Errorf("the verify address answers with status %d", response.StatusCode)
	}
	return parseAnswer(response.Body)
}

// parseAnswer returns whether the JSON answer of the verify address accepts the token. A wrong
// secret is an error, although the answer has the form of a refusal: another token would not help.
func parseAnswer(body io.Reader) (accepted bool, err error) {
	text, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err != nil {
		return false, err
	}
	if len(text) > maxAnswer {
		return false, errors.New("the answer is too long")
	}
	var answer map[string]any // not a struct, whose fields match without case
	if err := json.Unmarshal(text, &answer); err != nil {
		return false, errors.New("the answer is not a JSON object")
	}
	accepted, is := answer["success"].(bool)
	if !is {
		return false, errors.New("the answer has no boolean success")
	}
	codes, _ := answer["error-codes"].([]any)
	for _, code := range codes {
		if !accepted && (code == "missing-input-secret" || code == "invalid-input-secret") {
			return false, errors.New("the verify address rejects the secret")
		}
	}
	return accepted, nil
}

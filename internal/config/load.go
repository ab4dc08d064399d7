package config

import (
	"flag"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
)

// ErrHelp is returned when the command line asks for help (-h, --help). The caller prints Usage and
// exits with 0.
var ErrHelp = flag.ErrHelp

// Error holds all problems of a configuration.
type Error struct{ Problems []Problem }

// Problem is one mistake.
type Problem struct {
	Setting string // name of the flag without dashes; "" if no setting is concerned, as for an unknown name
	// names the setting and its source, and says how to correct it; never contains the value of a
	// secret
	Text string
}

// Error lists the problems, one per line.
func (e *Error) Error() string {
	var b strings.Builder
	if len(e.Problems) == 1 {
		b.WriteString("1 problem with the configuration:")
	} else {
		fmt.Fprintf(&b, "%d problems with the configuration:", len(e.Problems))
	}
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.Text)
	}
	return b.String()
}

// Load reads the configuration of `larder serve` from the arguments after the command and from
// environ, lines of NAME=value as os.Environ returns them. Error: ErrHelp, or a *Error with all
// problems.
func Load(args, environ []string) (Config, error) {
	c, _, err := load(args, environ, nil)
	return c, err
}

// LoadCommand is Load for a command with arguments and flags of its own (own, nil for none), such
// as `larder admin create NAME --role user`. Flags of own and of the settings may stand anywhere.
// It returns the other arguments in order.
func LoadCommand(args, environ []string, own *flag.FlagSet) (Config, []string, error) {
	if own == nil {
		own = flag.NewFlagSet("", flag.ContinueOnError)
	}
	return load(args, environ, own)
}

// load reads the configuration for a command that takes arguments, or, if own is nil, for one that
// takes none, and returns the arguments. Error: ErrHelp, or a *Error.
func load(args, environ []string, own *flag.FlagSet) (Config, []string, error) {
	faults := &Error{}
	in, words, err := gather(args, environ, own, faults)
	if err != nil {
		return Config{}, nil, err
	}
	if own == nil {
		for _, word := range words {
			faults.add("", "%q on the command line is not a setting", word)
		}
	}
	var c Config
	bad := map[string]bool{}
	for _, s := range settings {
		g, ok := in[s.flag]
		if !ok && s.def == "" {
			continue
		}
		if !ok {
			g = rawValue{name: "--" + s.flag, value: s.def}
		}
		err := g.err
		if err == nil {
			err = s.rule.store(&c, g.value)
		}
		if err != nil {
			bad[s.flag] = true
			faults.add(s.flag, "%s %v", g.describe(s), err)
		}
	}
	fillAndCheck(&c, in, bad, faults)
	if len(faults.Problems) > 0 {
		return Config{}, nil, faults
	}
	return c, words, nil
}

// fillAndCheck fills in settings of c that follow from others, and adds to faults where settings
// contradict each other. in holds the values as they were written. It skips settings that are
// invalid in themselves: bad, by flag name.
func fillAndCheck(c *Config, in map[string]rawValue, bad map[string]bool, faults *Error) {
	if c.ObjectDir == "" {
		c.ObjectDir = filepath.Join(c.DataDir, "objects")
	}
	if c.BaseURL == "" && !bad["base-url"] && !bad["listen"] {
		base, ok := deriveBaseURL(c.Listen)
		if !ok {
			faults.add("base-url",
				"--base-url (LARDER_BASE_URL) must be given: it can't be derived from the listen address %q", c.Listen)
		}
		c.BaseURL = base
	}
	if c.ContentURL != "" && c.ContentURL == c.BaseURL {
		faults.add("content-url", "%s must differ from the base URL", in["content-url"].name)
	}
	if _, port, _ := net.SplitHostPort(c.Listen); c.OpsListen == c.Listen && c.Listen != "" && port != "0" {
		faults.add("ops-listen", "%s must differ from the address of the public listener", in["ops-listen"].name)
	}
	if c.DatabaseURL != "" && c.SecretKey == "" && !bad["secret-key"] {
		faults.add("secret-key",
			"--secret-key (LARDER_SECRET_KEY) must be given with PostgreSQL, so that all replicas have the same")
	}
	if c.CaptchaVerifyURL != "" && c.CaptchaSecret == "" {
		faults.add("captcha-secret", "--captcha-secret (LARDER_CAPTCHA_SECRET) must be given with a captcha verify URL")
	}
	if c.CaptchaVerifyURL == "" && !bad["captcha-verify-url"] && (c.CaptchaSecret != "" || c.CaptchaProvider != "") {
		faults.add("captcha-verify-url",
			"--captcha-verify-url (LARDER_CAPTCHA_VERIFY_URL) must be given with the other captcha settings")
	}
}

// deriveBaseURL derives the base URL, with the scheme http, from the listen address. The base URL
// is "" and ok true for port 0 on loopback, where the port is known only after listening. ok is
// false if the address names no host that clients can connect to, such as ":8080" or
// "0.0.0.0:8080": the operator has to set the base URL then.
func deriveBaseURL(listen string) (base string, ok bool) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || host == "" {
		return "", false
	}
	addr, err := netip.ParseAddr(host)
	if err == nil && addr.Unmap().IsUnspecified() {
		return "", false
	}
	if port == "0" {
		return "", strings.EqualFold(host, "localhost") || (err == nil && addr.Unmap().IsLoopback())
	}
	base, err = origin("http://" + net.JoinHostPort(host, port))
	return base, err == nil
}

// add adds a problem of a setting, given by flag name, or "" for none.
func (e *Error) add(setting, format string, args ...any) {
	e.Problems = append(e.Problems, Problem{Setting: setting, Text: fmt.Sprintf(format, args...)})
}

// Package config turns flags, environment and an optional file into one Config value.
//
// One table (settings.go) holds every setting once: its names, default, meaning and rule; the help
// text and the table in docs/operate.md are made from it. A flag wins over the environment, that
// over the file, that over the default. Load looks at everything before it answers, so that an
// operator learns of all mistakes at once; a name that it doesn't know is a mistake too, in all
// three places. No problem that it reports holds the value of a secret setting.
package config

import (
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"time"

	"larder/internal/secret"
)

// Unlimited is the quota without a limit.
const Unlimited = -1

// LogFormat is how log lines are written.
type LogFormat string

// The log formats. LogAuto is text on a terminal and JSON elsewhere.
const (
	LogAuto LogFormat = "auto"
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// Thumbnails is who makes thumbnails of pictures.
type Thumbnails string

// The choices. ThumbnailsAuto is libvips where it is installed and runs, and what
// is built in elsewhere.
const (
	ThumbnailsAuto    Thumbnails = "auto"
	ThumbnailsBuiltIn Thumbnails = "built-in"
	ThumbnailsOff     Thumbnails = "off"
)

// Config is every setting, checked. Exported fields alone, so that a print of it
// redacts what is secret.
type Config struct {
	Listen    string // host:port of the public listener; the host may be empty (all interfaces), the port 0
	OpsListen string // host:port for metrics and profiles, "" for none
	// scheme://host[:port], no slash at the end; "" when the port is known after
	// listening only: see BaseURLAt
	BaseURL    string
	ContentURL string // like BaseURL, "" for none: reserved

	TrustedProxies []netip.Prefix // masked, IPv4 unmapped, as are all prefixes here

	DataDir     string
	ObjectDir   string      // never empty
	MinFree     int64       // bytes
	DatabaseURL secret.Text // postgres://…, "" for SQLite in the data directory
	RedisURL    secret.Text // redis://…, rediss://… or unix://…, "" for in-process
	SecretKey   secret.Text // the 32 bytes themselves, decoded; "" for the generated key in KeyFile

	AdminUsername     string
	AdminEmail        string
	AdminPassword     secret.Text // "" for a random one
	AllowRegistration bool        // what the site setting starts with

	RateLimitEnabled   bool  // what the site setting starts with
	RateLimitPerMinute int   // what the site setting starts with, 1 to 10000
	AuthRateLimit      int   // requests a minute and IP
	DefaultMaxStorage  int64 // bytes, or Unlimited
	DefaultMaxFiles    int64 // files, or Unlimited

	AllowPrivateEndpoints         []netip.Prefix
	FreeModeAllowPrivateEndpoints []netip.Prefix
	SMTPAllowPrivate              []netip.Prefix

	CaptchaVerifyURL string // http(s), "" for none
	CaptchaSecret    secret.Text
	CaptchaProvider  string // turnstile, hcaptcha, recaptcha or ""

	Thumbnails Thumbnails

	LinkMaxAge   time.Duration
	LogRetention time.Duration
	GarbageGrace time.Duration

	Development bool // error.details is sent
	LogFormat   LogFormat
	LogLevel    slog.Level
}

// Postgres reports whether metadata lies in PostgreSQL.
func (c Config) Postgres() bool { return c.DatabaseURL != "" }

// KeyFile is where the generated secret key lies.
func (c Config) KeyFile() string { return filepath.Join(c.DataDir, "secret.key") }

// DatabaseFile is where SQLite keeps the metadata.
func (c Config) DatabaseFile() string { return filepath.Join(c.DataDir, "larder.db") }

// ThumbnailDir is where thumbnails are kept.
func (c Config) ThumbnailDir() string { return filepath.Join(c.DataDir, "cache", "thumbs") }

// AuditFile is where SQLite keeps the access log.
func (c Config) AuditFile() string { return filepath.Join(c.DataDir, "audit.db") }

// BaseURLAt returns the base URL once the listener is bound to bound, an address as net.Addr.String
// writes it: BaseURL where that is set, else the host of Listen with the port of bound.
func (c Config) BaseURLAt(bound string) string {
	if c.BaseURL != "" {
		return c.BaseURL
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "http://" + bound
	}
	_, port, err := net.SplitHostPort(bound)
	if err != nil {
		return "http://" + bound
	}
	return "http://" + net.JoinHostPort(host, port)
}

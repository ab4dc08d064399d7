// Package config turns flags, environment and an optional file into one Config value.
//
// One table (settings.go) holds each setting once, with its names, default, meaning and rule. The
// help text and the table in docs/operate.md are made from it. A flag takes precedence over the
// environment, the environment over the file, and the file over the default. Load checks everything
// before it returns, so that an operator sees all mistakes at once. An unknown name is a mistake
// too, in all three places. No reported problem contains the value of a secret setting.
package config

import (
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"time"

	"larder/internal/secret"
)

// Unlimited is the value of a quota without a limit.
const Unlimited = -1

// LogFormat is the format of log lines.
type LogFormat string

// The log formats. LogAuto is text on a terminal and JSON elsewhere.
const (
	LogAuto LogFormat = "auto"
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// Thumbnails says which program makes the thumbnails of pictures.
type Thumbnails string

// The choices. ThumbnailsAuto uses libvips if it is installed and works, and the built-in code
// otherwise.
const (
	ThumbnailsAuto    Thumbnails = "auto"
	ThumbnailsBuiltIn Thumbnails = "built-in"
	ThumbnailsOff     Thumbnails = "off"
)

// Config holds all settings, validated. All fields are exported, so that printing a Config redacts
// the secrets.
type Config struct {
	Listen    string // host:port of the public listener; the host may be empty (all interfaces), the port 0
	OpsListen string // host:port for metrics and profiles, "" for none
	// scheme://host[:port] without a slash at the end; "" if the port is known only after
	// listening: see BaseURLAt
	BaseURL    string
	ContentURL string // like BaseURL, "" for none: reserved

	TrustedProxies []netip.Prefix // masked, IPv4 unmapped, like all prefixes here

	DataDir     string
	ObjectDir   string // never empty
	MinFree     int64  // bytes
	ObjectCache int64  // bytes
	EntryCache  int64  // bytes
	// DatabaseCache is the memory of the page caches of SQLite together, in bytes
	DatabaseCache int64
	ScrubRate     int64       // bytes a second, 0 for none
	ScrubBuckets  bool        // buckets are scrubbed, too
	ScrubBackup   string      // directory, or s3://bucket/prefix; "" for none
	DatabaseURL   secret.Text // postgres://…, "" for SQLite in the data directory
	RedisURL      secret.Text // redis://…, rediss://… or unix://…, "" to keep counters in the process
	SecretKey     secret.Text // the decoded 32 bytes; "" for the generated key in KeyFile

	AdminUsername     string
	AdminEmail        string
	AdminPassword     secret.Text // "" for a random one
	AllowRegistration bool        // initial value of the site setting

	RateLimitEnabled   bool  // initial value of the site setting
	RateLimitPerMinute int   // initial value of the site setting, 1 to 10000
	AuthRateLimit      int   // requests per minute and IP address
	DefaultMaxStorage  int64 // bytes, or Unlimited
	DefaultMaxFiles    int64 // files, or Unlimited

	AllowPrivateEndpoints         []netip.Prefix
	FreeModeAllowPrivateEndpoints []netip.Prefix
	SMTPAllowPrivate              []netip.Prefix

	// the server of `larder backup s3://…` and `larder restore s3://…`; "" for none
	BackupEndpoint        string // http(s)
	BackupRegion          string
	BackupAccessKeyID     secret.Text
	BackupSecretAccessKey secret.Text
	BackupPathStyle       bool // the bucket is in the path instead of the host name

	CaptchaVerifyURL string // http(s), "" for none
	CaptchaSecret    secret.Text
	CaptchaProvider  string // turnstile, hcaptcha, recaptcha or ""

	Thumbnails Thumbnails

	LinkMaxAge     time.Duration
	LogRetention   time.Duration
	TrashRetention time.Duration // initial value of the site setting trashDays
	GarbageGrace   time.Duration

	Development bool // responses contain error.details
	LogFormat   LogFormat
	LogLevel    slog.Level
}

// Postgres reports whether the metadata is in PostgreSQL.
func (c Config) Postgres() bool { return c.DatabaseURL != "" }

// KeyFile returns the path of the generated secret key.
func (c Config) KeyFile() string { return filepath.Join(c.DataDir, "secret.key") }

// DatabaseFile returns the path of the SQLite metadata database.
func (c Config) DatabaseFile() string { return filepath.Join(c.DataDir, "larder.db") }

// ThumbnailDir returns the directory of the cached thumbnails.
func (c Config) ThumbnailDir() string { return filepath.Join(c.DataDir, "cache", "thumbs") }

// AuditFile returns the path of the SQLite access log.
func (c Config) AuditFile() string { return filepath.Join(c.DataDir, "audit.db") }

// BaseURLAt returns the base URL once the listener is bound to bound, an address in the form of
// net.Addr.String. It is BaseURL if that is set, else the host of Listen with the port of bound,
// which the system has chosen for port 0.
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

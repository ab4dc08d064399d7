package config

import (
	"log/slog"
	"math"
	"strings"
	"time"

	"larder/internal/secret"
)

// setting is one row of the table. The flag determines the other two names: `data-dir`,
// LARDER_DATA_DIR, `data_dir`.
type setting struct {
	flag        string
	group       string // heading in the help and the document, on the first setting of a group
	def         string // the default in the form of a value, "" for none
	defaultText string // describes the default if def is ""
	meaning     string
	secret      bool // its value is never printed
	rule        rule
}

// env returns the name of the setting in the environment, such as LARDER_DATA_DIR.
func (s setting) env() string { return envPrefix + strings.ToUpper(s.key()) }

// key returns the name of the setting in the file, such as data_dir.
func (s setting) key() string { return strings.ReplaceAll(s.flag, "-", "_") }

const (
	day         = 24 * time.Hour
	maxDuration = 36500 * day // a hundred years, for durations without a natural limit
)

// The table of settings. `config` is not in it, since the path of the file cannot be in the file.
var settings = []setting{
	{
		flag: "listen", group: "Addresses", def: "127.0.0.1:8080", meaning: "address of the public listener",
		rule: text(listenAddress, func(c *Config) *string { return &c.Listen }),
	},
	{
		flag: "base-url", defaultText: "`http://` + the listen address",
		meaning: "address at which people reach the service: scheme, host and port; must be given when it listens on " +
			"all interfaces, or on port 0 outside loopback",
		rule: text(optional(origin), func(c *Config) *string { return &c.BaseURL }),
	},
	{
		flag: "trusted-proxies", defaultText: "none",
		meaning: "CIDRs of the proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` Larder trusts",
		rule:    prefixes(func(c *Config) *prefixList { return &c.TrustedProxies }),
	},
	{
		flag: "content-url", defaultText: "none",
		meaning: "reserved: a second origin that serves the bytes of files and nothing else",
		rule:    text(optional(origin), func(c *Config) *string { return &c.ContentURL }),
	},
	{
		flag: "ops-listen", defaultText: "none",
		meaning: "address for Prometheus metrics and profiles; keep it private",
		rule:    text(optional(listenAddress), func(c *Config) *string { return &c.OpsListen }),
	},

	{
		flag: "data-dir", group: "Storage", def: "./data",
		meaning: "directory for the SQLite database and the generated key",
		rule:    text(directory, func(c *Config) *string { return &c.DataDir }),
	},
	{
		flag: "object-dir", defaultText: "`objects` in the data directory",
		meaning: "directory where the built-in store keeps the bytes of files",
		rule:    text(optional(directory), func(c *Config) *string { return &c.ObjectDir }),
	},
	{
		flag: "min-free", def: "256MiB",
		meaning: "while less space than this is free, Larder refuses uploads; deleting goes on. " +
			"Below twice as much, the oldest entries of the trash and the oldest versions on the disk are deleted",
		rule: size(0, func(c *Config) *int64 { return &c.MinFree }),
	},
	{
		flag: "object-cache", def: "32MiB",
		meaning: "memory for recently requested files of up to 64 KiB; 0 for none",
		rule:    size(0, func(c *Config) *int64 { return &c.ObjectCache }),
	},
	{
		flag: "entry-cache", def: "8MiB",
		meaning: "memory for the paths and permissions of recently requested files; SQLite only; 0 for none",
		rule:    size(0, func(c *Config) *int64 { return &c.EntryCache }),
	},
	{
		flag: "database-cache", def: "24MiB",
		meaning: "memory of SQLite's page caches, of all connections together; 1MiB or more",
		rule:    size(1<<20, func(c *Config) *int64 { return &c.DatabaseCache }),
	},
	{
		flag: "scrub-rate", def: "20MiB",
		meaning: "each stored object is read once in 90 days and compared with its checksum: bytes to read a " +
			"second at most; 0 for never",
		rule: size(0, func(c *Config) *int64 { return &c.ScrubRate }),
	},
	{
		flag: "scrub-buckets", def: "false",
		meaning: "objects in buckets are read likewise; their vendor may charge for that",
		rule:    boolean(func(c *Config) *bool { return &c.ScrubBuckets }),
	},
	{
		flag: "scrub-backup", defaultText: "none",
		meaning: "backup from which damaged objects are healed: a directory, or `s3://…` at the server of " +
			"`LARDER_BACKUP_ENDPOINT`",
		rule: text(anyText, func(c *Config) *string { return &c.ScrubBackup }),
	},
	{
		flag: "database-url", defaultText: "SQLite in the data directory",
		meaning: "`postgres://…` keeps the metadata in PostgreSQL", secret: true,
		rule: secretText(optional(urlWithScheme("postgres", "postgresql")),
			func(c *Config) *secret.Text { return &c.DatabaseURL }),
	},
	{
		flag: "redis-url", defaultText: "kept in the process",
		meaning: "`redis://…` shares rate limits and cache invalidation between replicas", secret: true,
		rule: secretText(optional(urlWithScheme("redis", "rediss", "unix")),
			func(c *Config) *secret.Text { return &c.RedisURL }),
	},
	{
		flag: "secret-key", defaultText: "made at the first start, in the data directory", secret: true,
		meaning: "32 random bytes in base64 that sign sessions and seal stored credentials; must be given with " +
			"PostgreSQL",
		rule: secretText(masterKey, func(c *Config) *secret.Text { return &c.SecretKey }),
	},

	{
		flag: "admin-username", group: "First start", def: "admin",
		meaning: "name of the first administrator; only on the first start",
		rule:    text(username, func(c *Config) *string { return &c.AdminUsername }),
	},
	{
		flag: "admin-email", def: "admin@localhost",
		meaning: "email address of the first administrator; only on the first start",
		rule:    text(email, func(c *Config) *string { return &c.AdminEmail }),
	},
	{
		flag: "admin-password", defaultText: "random, printed once",
		meaning: "password of the first administrator, 8 to 128 characters; only on the first start", secret: true,
		rule: secretText(optional(password), func(c *Config) *secret.Text { return &c.AdminPassword }),
	},
	{
		flag: "allow-registration", def: "false",
		meaning: "initial value of the site setting `allowRegistration`; only on the first start",
		rule:    boolean(func(c *Config) *bool { return &c.AllowRegistration }),
	},
	{
		flag: "rate-limit-enabled", def: "true",
		meaning: "initial value of the site setting `rateLimitEnabled`; only on the first start",
		rule:    boolean(func(c *Config) *bool { return &c.RateLimitEnabled }),
	},
	{
		flag: "rate-limit-per-minute", def: "600",
		meaning: "initial value of the site setting `rateLimitRequestsPerMinute`, 1 to 10000; only on the first start",
		rule:    integer(1, 10000, func(c *Config) *int { return &c.RateLimitPerMinute }),
	},

	{
		flag: "auth-rate-limit", group: "Limits", def: "5",
		meaning: "requests a minute from one IP address on the endpoints that take or mail a credential",
		rule:    integer(1, math.MaxInt32, func(c *Config) *int { return &c.AuthRateLimit }),
	},
	{
		flag: "default-max-storage", def: "10GiB", meaning: "storage quota of a new user; -1 for no limit",
		rule: size(Unlimited, func(c *Config) *int64 { return &c.DefaultMaxStorage }),
	},
	{
		flag: "default-max-files", def: "100000", meaning: "number of files that a new user may keep; -1 for no limit",
		rule: integer(Unlimited, math.MaxInt64, func(c *Config) *int64 { return &c.DefaultMaxFiles }),
	},
	{
		flag: "allow-private-endpoints", defaultText: "none",
		meaning: "CIDRs, beyond public addresses, in which storage providers, the bucket of backups and the " +
			"captcha check may be",
		rule: prefixes(func(c *Config) *prefixList { return &c.AllowPrivateEndpoints }),
	},
	{
		flag: "free-mode-allow-private-endpoints", defaultText: "none",
		meaning: "the same for the stores of free-mode visitors",
		rule:    prefixes(func(c *Config) *prefixList { return &c.FreeModeAllowPrivateEndpoints }),
	},
	{
		flag: "smtp-allow-private", def: "127.0.0.0/8,::1/128",
		meaning: "CIDRs, beyond public addresses, in which the mail server may be; this replaces the default",
		rule:    prefixes(func(c *Config) *prefixList { return &c.SMTPAllowPrivate }),
	},

	{
		flag: "backup-endpoint", group: "Backups", defaultText: "none",
		meaning: "address of the S3-compatible server for `larder backup s3://…` and `larder restore s3://…`, " +
			"such as `https://s3.eu-central-1.amazonaws.com`",
		rule: text(optional(origin), func(c *Config) *string { return &c.BackupEndpoint }),
	},
	{
		flag: "backup-region", defaultText: "`us-east-1`", meaning: "region of that server",
		rule: text(anyText, func(c *Config) *string { return &c.BackupRegion }),
	},
	{
		flag: "backup-access-key-id", defaultText: "none", meaning: "access key for it", secret: true,
		rule: secretText(anyText, func(c *Config) *secret.Text { return &c.BackupAccessKeyID }),
	},
	{
		flag: "backup-secret-access-key", defaultText: "none", meaning: "secret that belongs to the access key",
		secret: true,
		rule:   secretText(anyText, func(c *Config) *secret.Text { return &c.BackupSecretAccessKey }),
	},
	{
		flag: "backup-path-style", def: "true",
		meaning: "`true`: the bucket is in the path of the address; `false`: in front of its host name",
		rule:    boolean(func(c *Config) *bool { return &c.BackupPathStyle }),
	},

	{
		flag: "captcha-verify-url", group: "Captcha", defaultText: "none",
		meaning: "address that verifies the token of the bot check (`siteverify`)",
		rule:    text(optional(webAddress), func(c *Config) *string { return &c.CaptchaVerifyURL }),
	},
	{
		flag: "captcha-secret", defaultText: "none", meaning: "secret sent to that address; must be given with it",
		secret: true,
		rule:   secretText(anyText, func(c *Config) *secret.Text { return &c.CaptchaSecret }),
	},
	{
		flag: "captcha-provider", defaultText: "none",
		meaning: "the widget on the page: `turnstile`, `hcaptcha` or `recaptcha`",
		rule: text(optional(oneOf("turnstile", "hcaptcha", "recaptcha")),
			func(c *Config) *string { return &c.CaptchaProvider }),
	},

	{
		flag: "link-max-age", group: "Lifetimes", def: "1h",
		meaning: "how long caches may keep public files and permanent links without asking",
		rule:    duration(0, func(c *Config) *time.Duration { return &c.LinkMaxAge }),
	},
	{
		flag: "log-retention", def: "90d", meaning: "age of the oldest entry of the access log",
		rule: duration(time.Second, func(c *Config) *time.Duration { return &c.LogRetention }),
	},
	{
		flag: "trash-retention", def: "30d",
		meaning: "initial value of the site setting `trashDays`, up to 365d, in days that have begun; only on the " +
			"first start",
		rule: durationUpTo(365*day, func(c *Config) *time.Duration { return &c.TrashRetention }),
	},
	{
		flag: "garbage-grace", def: "1h",
		meaning: "how long the bytes of a deleted file stay in the store; they are gone within a minute after, and " +
			"sooner where an account would have more than twice its quota there",
		rule: duration(0, func(c *Config) *time.Duration { return &c.GarbageGrace }),
	},

	{
		flag: "thumbnails", group: "Running", def: "auto",
		meaning: "`auto`: libvips makes thumbnails where `vipsthumbnail` is installed, else Larder alone; " +
			"`built-in`: Larder alone; `off`: none",
		rule: choice(map[string]Thumbnails{"auto": ThumbnailsAuto, "built-in": ThumbnailsBuiltIn, "off": ThumbnailsOff},
			func(c *Config) *Thumbnails { return &c.Thumbnails }),
	},
	{
		flag: "env", def: "production",
		meaning: "`production`, or `development`, which adds `error.details` to failures",
		rule: choice(map[string]bool{"production": false, "development": true},
			func(c *Config) *bool { return &c.Development }),
	},
	{
		flag: "log-format", def: "auto",
		meaning: "`text`, `json`, or `auto`: text on a terminal, else json; logs go to stderr",
		rule: choice(map[string]LogFormat{"auto": LogAuto, "text": LogText, "json": LogJSON},
			func(c *Config) *LogFormat { return &c.LogFormat }),
	},
	{
		flag: "log-level", def: "info", meaning: "`debug`, `info`, `warn` or `error`",
		rule: choice(map[string]slog.Level{
			"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
		}, func(c *Config) *slog.Level { return &c.LogLevel }),
	},
}

package config_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"larder/internal/config"
)

const goodKey = "BG6FOZgQ1RTSKXAr+9uYV8aSuI2PXUPjeD22xrL+MoY="

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "larder.toml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// problems returns the problems of a Load that must fail.
func problems(t *testing.T, args, environ []string) []config.Problem {
	t.Helper()
	c, err := config.Load(args, environ)
	var e *config.Error
	if !errors.As(err, &e) || len(e.Problems) == 0 {
		t.Fatalf("error %v, want problems", err)
	}
	if !reflect.DeepEqual(c, config.Config{}) {
		t.Errorf("a configuration comes with the problems: %+v", c)
	}
	return e.Problems
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	got, err := config.Load(nil, []string{"PATH=/bin", "HOME=/root"})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Listen:             "127.0.0.1:8080",
		BaseURL:            "http://127.0.0.1:8080",
		DataDir:            "data",
		ObjectDir:          "data/objects",
		MinFree:            268435456,
		ObjectCache:        33554432,
		EntryCache:         8388608,
		DatabaseCache:      25165824,
		ScrubRate:          20971520,
		AdminUsername:      "admin",
		AdminEmail:         "admin@localhost",
		RateLimitEnabled:   true,
		RateLimitPerMinute: 600,
		AuthRateLimit:      5,
		DefaultMaxStorage:  10737418240,
		DefaultMaxFiles:    100000,
		SMTPAllowPrivate:   []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		BackupPathStyle:    true,
		Thumbnails:         config.ThumbnailsAuto,
		LinkMaxAge:         time.Hour,
		LogRetention:       90 * 24 * time.Hour,
		TrashRetention:     30 * 24 * time.Hour,
		GarbageGrace:       time.Hour,
		LogFormat:          config.LogAuto,
		LogLevel:           slog.LevelInfo,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("defaults:\n got %+v\nwant %+v", got, want)
	}
	if got.KeyFile() != "data/secret.key" || got.DatabaseFile() != "data/larder.db" ||
		got.AuditFile() != "data/audit.db" || got.Postgres() {
		t.Errorf("files %s, %s and %s, postgres %v", got.KeyFile(), got.DatabaseFile(), got.AuditFile(), got.Postgres())
	}
}

// everything sets each setting to a value other than its default.
var everything = map[string]string{
	"listen": "0.0.0.0:9000", "base-url": "https://files.example.org", "trusted-proxies": "10.0.0.0/8,192.0.2.7",
	"content-url": "https://bytes.example.org",
	"ops-listen":  "127.0.0.1:9100", "data-dir": "/var/lib/larder", "object-dir": "/srv/objects", "min-free": "1GiB",
	"object-cache": "0", "entry-cache": "1MiB", "database-cache": "8MiB",
	"scrub-rate": "512KiB", "scrub-buckets": "true", "scrub-backup": "/srv/backup",
	"database-url": "postgres://larder:pw-of-pg@db/larder", "redis-url": "redis://:pw-of-redis@cache:6379/0",
	"secret-key":     goodKey,
	"admin-username": "chief_1", "admin-email": "chief@example.org", "admin-password": "pw of the chief",
	"allow-registration": "true",
	"rate-limit-enabled": "false", "rate-limit-per-minute": "1200", "auth-rate-limit": "50",
	"default-max-storage": "-1", "default-max-files": "-1",
	"allow-private-endpoints": "192.168.0.0/16", "free-mode-allow-private-endpoints": "fd00::/8",
	"backup-endpoint": "https://s3.example.org", "backup-region": "eu-1", "backup-access-key-id": "pw-of-access",
	"backup-secret-access-key": "pw-of-backup", "backup-path-style": "false",
	"smtp-allow-private": "10.9.8.7", "captcha-verify-url": "https://verify.example.org/siteverify",
	"captcha-secret": "pw-of-captcha", "captcha-provider": "hcaptcha", "link-max-age": "5m", "log-retention": "30d",
	"trash-retention": "7d", "garbage-grace": "0s",
	"thumbnails": "off", "env": "development", "log-format": "json", "log-level": "debug",
}

func wantEverything() config.Config {
	return config.Config{
		Listen: "0.0.0.0:9000", OpsListen: "127.0.0.1:9100", BaseURL: "https://files.example.org",
		ContentURL:     "https://bytes.example.org",
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32")},
		DataDir:        "/var/lib/larder", ObjectDir: "/srv/objects", MinFree: 1073741824,
		ObjectCache: 0, EntryCache: 1048576, DatabaseCache: 8388608,
		ScrubRate: 524288, ScrubBuckets: true, ScrubBackup: "/srv/backup",
		DatabaseURL: "postgres://larder:pw-of-pg@db/larder", RedisURL: "redis://:pw-of-redis@cache:6379/0",
		SecretKey:     "\x04\x6e\x85\x39\x98\x10\xd5\x14\xd2\x29\x70\x2b\xfb\xdb\x98\x57\xc6\x92\xb8\x8d\x8f\x5d\x43\xe3\x78\x3d\xb6\xc6\xb2\xfe\x32\x86",
		AdminUsername: "chief_1", AdminEmail: "chief@example.org", AdminPassword: "pw of the chief",
		AllowRegistration: true,
		RateLimitEnabled:  false, RateLimitPerMinute: 1200, AuthRateLimit: 50, DefaultMaxStorage: -1,
		DefaultMaxFiles:               -1,
		AllowPrivateEndpoints:         []netip.Prefix{netip.MustParsePrefix("192.168.0.0/16")},
		FreeModeAllowPrivateEndpoints: []netip.Prefix{netip.MustParsePrefix("fd00::/8")},
		SMTPAllowPrivate:              []netip.Prefix{netip.MustParsePrefix("10.9.8.7/32")},
		BackupEndpoint:                "https://s3.example.org", BackupRegion: "eu-1",
		BackupAccessKeyID: "pw-of-access", BackupSecretAccessKey: "pw-of-backup",
		CaptchaVerifyURL: "https://verify.example.org/siteverify", CaptchaSecret: "pw-of-captcha",
		CaptchaProvider: "hcaptcha",
		Thumbnails:      config.ThumbnailsOff,
		LinkMaxAge:      5 * time.Minute, LogRetention: 720 * time.Hour, TrashRetention: 168 * time.Hour,
		GarbageGrace: 0,
		Development:  true, LogFormat: config.LogJSON, LogLevel: slog.LevelDebug,
	}
}

// Every setting can be given in all three places, under the names that follow from its flag.
func TestEverySettingInEveryPlace(t *testing.T) {
	t.Parallel()
	// Settings that TOML does not write as text.
	native := map[string]string{
		"trusted-proxies": `["10.0.0.0/8", "192.0.2.7"]`, "allow-registration": "true", "rate-limit-enabled": "false",
		"rate-limit-per-minute": "1200", "auth-rate-limit": "50", "default-max-storage": "-1",
		"default-max-files": "-1", "backup-path-style": "false",
	}
	var flags, oneDash, environ []string
	var file strings.Builder
	for name, value := range everything {
		key := strings.ReplaceAll(name, "-", "_")
		flags = append(flags, "--"+name+"="+value)
		oneDash = append(oneDash, "-"+name+"="+value)
		environ = append(environ, "LARDER_"+strings.ToUpper(key)+"="+value)
		fmt.Fprintf(&file, "%s = %s\n", key, cmp.Or(native[name], strconv.Quote(value)))
	}
	path := writeFile(t, file.String())
	for name, in := range map[string]struct{ args, environ []string }{
		"flags":                    {flags, nil},
		"flags with one dash":      {oneDash, nil},
		"environment":              {nil, environ},
		"file named by flag":       {[]string{"--config", path}, nil},
		"file named by variable":   {nil, []string{"LARDER_CONFIG=" + path}},
		"flag over other variable": {[]string{"--config", path}, []string{"LARDER_CONFIG=/nowhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := config.Load(in.args, in.environ)
			if err != nil {
				t.Fatal(err)
			}
			if want := wantEverything(); !reflect.DeepEqual(got, want) {
				t.Errorf("\n got %+v\nwant %+v", got, want)
			}
			if !got.Postgres() {
				t.Error("not PostgreSQL")
			}
		})
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "auth_rate_limit = 3\nadmin_username = \"from_file\"\nenv = \"development\"")
	file := []string{"LARDER_CONFIG=" + path}
	env := append(slices.Clone(file), "LARDER_AUTH_RATE_LIMIT=2", "LARDER_ADMIN_USERNAME=from_env")
	tests := map[string]struct {
		args, environ []string
		limit         int
		name          string
	}{
		"default":               {nil, nil, 5, "admin"},
		"file over default":     {nil, file, 3, "from_file"},
		"environment over file": {nil, env, 2, "from_env"},
		"flag over environment": {[]string{"--auth-rate-limit", "1", "-admin-username", "from_flag"}, env, 1,
			"from_flag"},
		"flag over file":       {[]string{"--auth-rate-limit=1"}, file, 1, "from_file"},
		"last flag over first": {[]string{"--auth-rate-limit=9", "--auth-rate-limit=8"}, nil, 8, "admin"},
		"an invalid value that is overridden": {[]string{"--auth-rate-limit=7"},
			append(slices.Clone(file), "LARDER_AUTH_RATE_LIMIT=x"), 7, "from_file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load(tt.args, tt.environ)
			if err != nil {
				t.Fatal(err)
			}
			if c.AuthRateLimit != tt.limit || c.AdminUsername != tt.name {
				t.Errorf("limit %d, name %s; want %d, %s", c.AuthRateLimit, c.AdminUsername, tt.limit, tt.name)
			}
		})
	}
}

// An empty value overrides the file with "none".
func TestEmptyMeansNone(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "redis_url = \"redis://cache\"\ntrusted_proxies = \"10.0.0.0/8\"")
	c, err := config.Load([]string{"--config", path}, []string{"LARDER_REDIS_URL=", "LARDER_TRUSTED_PROXIES="})
	if err != nil || c.RedisURL != "" || c.TrustedProxies != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

// LARDER_URL and LARDER_KEY belong to programs that use a service: every command ignores them, and
// only them.
func TestVariablesOfClients(t *testing.T) {
	t.Parallel()
	environ := []string{"LARDER_URL=https://files.example.org", "LARDER_KEY=pk_a.sk_b"}
	plain, err := config.Load(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(nil, environ)
	if err != nil || !reflect.DeepEqual(c, plain) {
		t.Errorf("serve: %+v, %v", c, err)
	}
	c, _, err = config.LoadCommand([]string{"x"}, environ, nil)
	if err != nil || !reflect.DeepEqual(c, plain) {
		t.Errorf("another command: %+v, %v", c, err)
	}
	got := problems(t, nil, append(environ, "LARDER_NONSENSE=1", "LARDER_KEYS=1", "LARDER_URL_=1"))
	want := []config.Problem{{Text: "LARDER_NONSENSE in the environment is not a setting"},
		{Text: "LARDER_KEYS in the environment is not a setting"},
		{Text: "LARDER_URL_ in the environment is not a setting"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "garbage_grace = 60\nbase-url = \"x\"\nlink_max_age = \"soon\"\n[captcha]\nprovider = \"x\"\n")
	got := problems(t,
		[]string{"--min-free=lots", "--colour=red", "word", "--shape", "round", "---secret-key=pw1", "--config=" + path,
			"stray", "--log-level"},
		[]string{"LARDER_ENV=staging", "LARDER_LISTN=:1", "LARDER_TEST_DSN=x", "LARDERS=1",
			"LARDER_ADMIN_PASSWORD=pw2"})
	want := []config.Problem{
		{Text: "flag provided but not defined: -colour"},
		{Text: "flag provided but not defined: -shape"},
		{Text: `"---secret-key" is not a flag`},
		{Text: "flag needs an argument: -log-level"},
		{Text: "LARDER_LISTN in the environment is not a setting"},
		{Text: path + ": base-url is not a setting"},
		{Text: path + ": captcha is not a setting"},
		{Text: `"word" on the command line is not a setting`},
		{Text: `"stray" on the command line is not a setting`},
		{Setting: "min-free", Text: `--min-free="lots" must be a number of bytes, or a number with KiB, MiB or GiB`},
		{Setting: "admin-password", Text: "LARDER_ADMIN_PASSWORD must have 8 to 128 characters"},
		{Setting: "link-max-age", Text: path + `: link_max_age="soon" must be a duration such as 30s, 1h30m or 90d`},
		{Setting: "garbage-grace", Text: path + `: garbage_grace must be text such as "1h30m" or "90d"`},
		{Setting: "env", Text: `LARDER_ENV="staging" must be one of development, production`},
	}
	if !slices.Equal(got, want) {
		t.Errorf("problems:\n got %q\nwant %q", got, want)
	}
	text := (&config.Error{Problems: got}).Error()
	if !strings.HasPrefix(text, "14 problems with the configuration:\n  flag provided") ||
		strings.Count(text, "\n") != 14 {
		t.Errorf("as text: %s", text)
	}
	if text := (&config.Error{Problems: got[:1]}).
		Error(); text != "1 problem with the configuration:\n  flag provided but not defined: -colour" {
		t.Errorf("as text: %s", text)
	}
}

// Variables that Kubernetes and Docker set are not reported as unknown, unless they look like a
// typing error.
func TestServiceLinksAreNoSettings(t *testing.T) {
	t.Parallel()
	_, err := config.Load(nil, []string{
		"LARDER_SERVICE_HOST=10.0.0.1", "LARDER_SERVICE_PORT=8080", "LARDER_SERVICE_PORT_HTTP=8080",
		"LARDER_PORT=tcp://10.0.0.1:8080",
		"LARDER_PORT_8080_TCP=tcp://10.0.0.1:8080", "LARDER_PORT_8080_TCP_ADDR=10.0.0.1",
		"LARDER_WEB_SERVICE_HOST=10.0.0.2", "LARDER_WEB_PORT=tcp://10.0.0.2:80",
	})
	if err != nil {
		t.Error(err)
	}
	for _, line := range []string{"LARDER_PORT=8080", "LARDER_HOST=x", "LARDER_SERVICE=x", "LARDER_=x",
		"LARDER_listen=x", "LARDER_TEST=x"} {
		if got := problems(t, nil, []string{line}); len(got) != 1 ||
			!strings.HasPrefix(got[0].Text, strings.SplitN(line, "=", 2)[0]+" ") {
			t.Errorf("%s: %q", line, got)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"-h"}, {"--min-free=lots", "--wrong", "-help"}} {
		if _, err := config.Load(args, []string{"LARDER_TYPO=1"}); !errors.Is(err, config.ErrHelp) {
			t.Errorf("%q: %v, want ErrHelp", args, err)
		}
	}
}

func TestLoadCommand(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args  []string
		words []string
		role  string
		dir   string
	}{
		"flags last": {[]string{"anna", "--role", "admin", "--data-dir", "/d"}, []string{"anna"}, "admin",
			"/d"},
		"flags first":   {[]string{"--data-dir=/d", "-role=admin", "anna"}, []string{"anna"}, "admin", "/d"},
		"between words": {[]string{"anna", "--role=admin", "berta"}, []string{"anna", "berta"}, "admin", "data"},
		"after a double dash": {[]string{"--role=admin", "--", "--anna", "-b"}, []string{"--anna", "-b"}, "admin",
			"data"},
		"a lone dash": {[]string{"-"}, []string{"-"}, "user", "data"},
		"nothing":     {nil, nil, "user", "data"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := flag.NewFlagSet("create", flag.ContinueOnError)
			role := own.String("role", "user", "role of the account")
			c, words, err := config.LoadCommand(tt.args, nil, own)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(words, tt.words) || *role != tt.role || c.DataDir != tt.dir {
				t.Errorf("words %q, role %s, directory %s", words, *role, c.DataDir)
			}
		})
	}
	_, words, err := config.LoadCommand([]string{"anna", "--for=x"}, nil, nil)
	var e *config.Error
	if !errors.As(err, &e) || len(e.Problems) != 1 || words != nil {
		t.Errorf("unknown flag of a command: %q, %v", words, err)
	}
}

// Abuse case C114: neither a print of the configuration nor a problem shows a secret.
func TestSecretsAreNotTold(t *testing.T) {
	t.Parallel()
	want := wantEverything()
	secrets := []string{"pw-of-pg", "pw-of-redis", goodKey, "pw of the chief", "pw-of-captcha",
		string(want.SecretKey.Reveal()), "BG6FOZ", "hunter", "1999123"}
	prints := []string{fmt.Sprint(want), fmt.Sprintf("%+v", want), fmt.Sprintf("%#v", &want)}
	for _, args := range [][]string{
		{"--secret-key=BG6FOZ"},
		{"--secret-key=" + goodKey + goodKey},
		{"--admin-password=pw-of-pg" + strings.Repeat("x", 128)},
		{"--database-url=postgres://u:pw-of-pg@%zz/x"},
		{"--database-url=mysql://u:pw-of-pg@db/x"},
		{"--redis-url=http://u:pw-of-redis@db/x"},
		{"--redis-url=redis://u:pw-of-redis@db:port"},
		{"---admin-password=pw-of-pg"},
		{"--config=" + writeFile(t, "admin_password = hunter\n")},
		{"--config=" + writeFile(t, "secret_key = 19991234567890123456789\n")},
		{"--config=" + writeFile(t, "admin_password = \"pw-of-pg\" pw-of-redis\n")},
		{"--config=" + writeFile(t, "secret_key = ['pw-of-pg']\n")},
		{"--config=" + writeFile(t, "secret_key = 'pw-of-pg'\n")},
	} {
		_, err := config.Load(args, nil)
		if err == nil {
			t.Errorf("%q passes", args)
			continue
		}
		prints = append(prints, err.Error())
	}
	for _, got := range prints {
		for _, s := range secrets {
			if strings.Contains(got, s) {
				t.Errorf("%q contains %q", got, s)
			}
		}
	}
}

// The message of the TOML parser may quote the line, so it is left out if the line belongs to a
// secret, however that is found out.
func TestErrorsOnLinesWithSecretsAreNotQuoted(t *testing.T) {
	t.Parallel()
	for content, explained := range map[string]bool{
		"admin_password = 12ab\n":                    false, // the line names the secret
		"admin_password = \"\"\"\nab\\qcd\n\"\"\"\n": false, // the line before names it
		"admin_username = 12ab\n":                    true,
	} {
		got := problems(t, []string{"--config=" + writeFile(t, content)}, nil)
		if len(got) != 1 || strings.HasSuffix(got[0].Text, "is not TOML (text needs quotes)") == explained {
			t.Errorf("%q: %q", content, got)
		}
	}
}

package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"larder/internal/config"
)

// Each value on both sides of its rule's limit. want is the field as %v prints it, "" if the value
// is refused.
func TestValues(t *testing.T) {
	t.Parallel()
	read := map[string]func(config.Config) any{
		"listen":                  func(c config.Config) any { return c.Listen },
		"ops-listen":              func(c config.Config) any { return c.OpsListen },
		"base-url":                func(c config.Config) any { return c.BaseURL },
		"content-url":             func(c config.Config) any { return c.ContentURL },
		"data-dir":                func(c config.Config) any { return c.DataDir + " " + c.ObjectDir },
		"min-free":                func(c config.Config) any { return c.MinFree },
		"object-cache":            func(c config.Config) any { return c.ObjectCache },
		"entry-cache":             func(c config.Config) any { return c.EntryCache },
		"database-cache":          func(c config.Config) any { return c.DatabaseCache },
		"scrub-rate":              func(c config.Config) any { return c.ScrubRate },
		"scrub-buckets":           func(c config.Config) any { return c.ScrubBuckets },
		"scrub-backup":            func(c config.Config) any { return c.ScrubBackup },
		"database-url":            func(c config.Config) any { return c.DatabaseURL.Reveal() },
		"redis-url":               func(c config.Config) any { return c.RedisURL.Reveal() },
		"secret-key":              func(c config.Config) any { return fmt.Sprintf("%x", c.SecretKey.Reveal()) },
		"admin-username":          func(c config.Config) any { return c.AdminUsername },
		"admin-email":             func(c config.Config) any { return c.AdminEmail },
		"admin-password":          func(c config.Config) any { return len(c.AdminPassword.Reveal()) },
		"allow-registration":      func(c config.Config) any { return c.AllowRegistration },
		"rate-limit-enabled":      func(c config.Config) any { return c.RateLimitEnabled },
		"rate-limit-per-minute":   func(c config.Config) any { return c.RateLimitPerMinute },
		"auth-rate-limit":         func(c config.Config) any { return c.AuthRateLimit },
		"default-max-storage":     func(c config.Config) any { return c.DefaultMaxStorage },
		"default-max-files":       func(c config.Config) any { return c.DefaultMaxFiles },
		"allow-private-endpoints": func(c config.Config) any { return c.AllowPrivateEndpoints },
		"smtp-allow-private":      func(c config.Config) any { return c.SMTPAllowPrivate },
		"backup-endpoint":         func(c config.Config) any { return c.BackupEndpoint },
		"backup-path-style":       func(c config.Config) any { return c.BackupPathStyle },
		"captcha-provider":        func(c config.Config) any { return c.CaptchaProvider },
		"captcha-verify-url":      func(c config.Config) any { return c.CaptchaVerifyURL },
		"link-max-age":            func(c config.Config) any { return c.LinkMaxAge },
		"log-retention":           func(c config.Config) any { return c.LogRetention },
		"trash-retention":         func(c config.Config) any { return c.TrashRetention },
		"garbage-grace":           func(c config.Config) any { return c.GarbageGrace },
		"env":                     func(c config.Config) any { return c.Development },
		"log-format":              func(c config.Config) any { return c.LogFormat },
		"thumbnails":              func(c config.Config) any { return c.Thumbnails },
		"log-level":               func(c config.Config) any { return c.LogLevel },
	}
	const refused = ""
	const keyBytes = "046e85399810d514d229702bfbdb9857c692b88d8f5d43e3783db6c6b2fe3286"
	tests := []struct{ flag, value, want string }{
		{"listen", "127.0.0.1:65535", "127.0.0.1:65535"},
		{"listen", "127.0.0.1:65536", refused},
		{"listen", "127.0.0.1:-1", refused},
		{"listen", "127.0.0.1:080", refused},
		{"listen", "127.0.0.1:http", refused},
		{"listen", "127.0.0.1", refused},
		{"listen", "8080", refused},
		{"listen", "[::1]:8080", "[::1]:8080"},
		{"listen", "::1:8080", refused},
		{"listen", "localhost:8080", "localhost:8080"},
		{"listen", "local host:8080", refused},
		{"listen", "", refused},
		{"ops-listen", ":9100", ":9100"},
		{"ops-listen", "9100", refused},
		{"ops-listen", "127.0.0.1:8080", refused}, // that of the public listener

		{"base-url", "https://files.example.org", "https://files.example.org"},
		{"base-url", "https://files.example.org/", "https://files.example.org"},
		{"base-url", "HTTPS://Files.Example.ORG:8443", "https://files.example.org:8443"},
		{"base-url", "https://files.example.org:443", "https://files.example.org"},
		{"base-url", "http://files.example.org:80", "http://files.example.org"},
		{"base-url", "http://files.example.org:443", "http://files.example.org:443"},
		{"base-url", "http://192.0.2.1:65535", "http://192.0.2.1:65535"},
		{"base-url", "http://192.0.2.1:65536", refused},
		{"base-url", "http://192.0.2.1:0", refused},
		{"base-url", "http://192.0.2.1:", refused},
		{"base-url", "http://[2001:DB8::1]:8080", "http://[2001:db8::1]:8080"},
		{"base-url", "http://[fe80::1%25eth0]", refused},
		{"base-url", "http://[192.0.2.1]", refused},
		{"base-url", "https://files.example.org/larder", refused},
		{"base-url", "https://files.example.org//", refused},
		{"base-url", "https://files.example.org?", refused},
		{"base-url", "https://files.example.org?a=b", refused},
		{"base-url", "https://files.example.org#", refused},
		{"base-url", "https://user@files.example.org", refused},
		{"base-url", "https://", refused},
		{"base-url", "https://:8080", refused},
		{"base-url", "https:files.example.org", refused},
		{"base-url", "files.example.org", refused},
		{"base-url", "ftp://files.example.org", refused},
		{"base-url", "https://dateien-für-alle.example", refused},
		{"base-url", "https://files.example.org\r\n", refused},
		{"content-url", "https://bytes.example.org/", "https://bytes.example.org"},
		{"content-url", "http://127.0.0.1:8080", refused}, // the base URL

		{"data-dir", "/var/lib/larder/", "/var/lib/larder /var/lib/larder/objects"},
		{"data-dir", "", refused},
		{"data-dir", "a\x00b", refused},

		{"min-free", "0", "0"},
		{"min-free", "1", "1"},
		{"min-free", "-1", refused},
		{"min-free", "1KiB", "1024"},
		{"min-free", "3 MiB", "3145728"},
		{"min-free", "2GiB", "2147483648"},
		{"min-free", "8589934591GiB", "9223372035781033984"},
		{"min-free", "8589934592GiB", refused},
		{"min-free", "9223372036854775807", "9223372036854775807"},
		{"min-free", "9223372036854775808", refused},
		{"min-free", "17179869184GiB", refused}, // 2^64: zero after the shift
		{"min-free", "1.5GiB", refused},
		{"min-free", "1GB", refused},
		{"min-free", "1gib", refused},
		{"min-free", "GiB", refused},
		{"min-free", "+1", refused},
		{"min-free", "", refused},
		{"object-cache", "0", "0"},
		{"object-cache", "1KiB", "1024"},
		{"object-cache", "-1", refused},
		{"entry-cache", "0", "0"},
		{"entry-cache", "1KiB", "1024"},
		{"entry-cache", "-1", refused},
		{"database-cache", "1MiB", "1048576"},
		{"database-cache", "1048575", refused},

		{"database-url", "postgres://u:p@h/db", "postgres://u:p@h/db"},
		{"database-url", "postgresql:///db?host=/run/postgresql", "postgresql:///db?host=/run/postgresql"},
		{"database-url", "mysql://u:p@h/db", refused},
		{"database-url", "postgres:db", refused},
		{"database-url", "host=db user=u", refused},
		{"redis-url", "rediss://h:6379/1", "rediss://h:6379/1"},
		{"redis-url", "unix:///run/redis.sock", "unix:///run/redis.sock"},
		{"redis-url", "h:6379", refused},
		{"redis-url", "http://h:6379", refused},

		{"secret-key", goodKey, keyBytes},
		{"secret-key", strings.TrimRight(goodKey, "="), keyBytes},
		{"secret-key", "", refused}, // abuse case C117, as are the next five
		{"secret-key", "changeme", refused},
		{"secret-key", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", refused},
		{"secret-key", "Y2hhbmdlbWVjaGFuZ2VtZWNoYW5nZW1lY2hhbmdlbWU=", refused}, // changeme four times
		{"secret-key", "cGxlYXNlLWNoYW5nZS10aGlzLWtleS1hdC1vbmNlISE=", refused}, // please-change-this-key-at-once!!
		{"secret-key", "BG6FOZgQ1RTSKXAr+9uYV8aSuI2PXUPjeD22xrL+Mg==", refused}, // 31 bytes

		{"admin-username", "abc", "abc"},
		{"admin-username", "ab", refused},
		{"admin-username", strings.Repeat("a", 20), strings.Repeat("a", 20)},
		{"admin-username", strings.Repeat("a", 21), refused},
		{"admin-username", "A_9", "A_9"},
		{"admin-username", "a-b", refused},
		{"admin-username", "änne", refused},
		{"admin-username", "abc\n", refused},
		{"admin-email", "a@b", "a@b"},
		{"admin-email", "a", refused},
		{"admin-email", "A <a@b>", refused},
		{"admin-email", "a@b\r\nBcc: c@d", refused},
		{"admin-email", strings.Repeat("a", 252) + "@b", strings.Repeat("a", 252) + "@b"},
		{"admin-email", strings.Repeat("a", 253) + "@b", refused},
		{"admin-password", "1234567", refused},
		{"admin-password", "12345678", "8"},
		{"admin-password", strings.Repeat("x", 128), "128"},
		{"admin-password", strings.Repeat("x", 129), refused},
		{"admin-password", strings.Repeat("😀", 128), "512"},
		{"admin-password", strings.Repeat("😀", 7), refused},
		{"admin-password", "1234567\xff", refused},
		{"admin-password", "", "0"},

		{"allow-registration", "true", "true"},
		{"allow-registration", "0", "false"},
		{"allow-registration", "yes", refused},
		{"rate-limit-enabled", "false", "false"},
		{"rate-limit-enabled", "", refused},
		{"rate-limit-per-minute", "0", refused},
		{"rate-limit-per-minute", "1", "1"},
		{"rate-limit-per-minute", "10000", "10000"},
		{"rate-limit-per-minute", "10001", refused},
		{"rate-limit-per-minute", "1.5", refused},
		{"auth-rate-limit", "0", refused},
		{"auth-rate-limit", "1", "1"},
		{"auth-rate-limit", "2147483648", refused},
		{"default-max-storage", "-2", refused},
		{"default-max-storage", "-1", "-1"},
		{"default-max-storage", "0", "0"},
		{"default-max-storage", "-1GiB", refused},
		{"default-max-files", "-2", refused},
		{"default-max-files", "-1", "-1"},
		{"default-max-files", "9223372036854775807", "9223372036854775807"},
		{"default-max-files", "9223372036854775808", refused},

		{"allow-private-endpoints", "10.1.2.3/8", "[10.0.0.0/8]"},
		{"allow-private-endpoints", " 10.0.0.0/8 , fd00::1 ,", "[10.0.0.0/8 fd00::1/128]"},
		{"allow-private-endpoints", "::ffff:192.168.0.0/112", "[192.168.0.0/16]"},
		{"allow-private-endpoints", "::ffff:192.168.0.1", "[192.168.0.1/32]"},
		{"allow-private-endpoints", "0.0.0.0/0", "[0.0.0.0/0]"},
		{"allow-private-endpoints", "10.0.0.0/33", refused},
		{"backup-endpoint", "http://10.0.0.5:9000", "http://10.0.0.5:9000"},
		{"backup-endpoint", "https://s3.example.org/bucket", refused},
		{"backup-endpoint", "s3.example.org", refused},
		{"backup-path-style", "no", refused},
		{"smtp-allow-private", "10.1.2.3/8,::1", "[10.0.0.0/8 ::1/128]"},
		{"smtp-allow-private", "loopback", refused},
		{"allow-private-endpoints", "10.0.0/8", refused},
		{"allow-private-endpoints", "10.0.0.0/8;10.0.0.1", refused},
		{"allow-private-endpoints", "fe80::1%eth0", refused},
		{"allow-private-endpoints", "nas.local", refused},

		{"captcha-provider", "turnstile", refused}, // half configured
		{"captcha-provider", "mcaptcha", refused},
		{"captcha-verify-url", "https://verify.example.org/", refused}, // half configured

		{"link-max-age", "0", "0s"},
		{"link-max-age", "-1s", refused},
		{"link-max-age", "1h30m", "1h30m0s"},
		{"link-max-age", "60", refused},
		{"log-retention", "1s", "1s"},
		{"log-retention", "999ms", refused},
		{"log-retention", "1d", "24h0m0s"},
		{"log-retention", "36500d", "876000h0m0s"},
		{"log-retention", "36501d", refused},
		{"log-retention", "876001h", refused},
		{"log-retention", "999999999999999999999d", refused},
		{"log-retention", "1.5d", refused},
		{"log-retention", "-1d", refused},
		{"log-retention", "d", refused},
		{"trash-retention", "0s", "0s"},
		{"trash-retention", "36h", "36h0m0s"},
		{"trash-retention", "365d", "8760h0m0s"},
		{"trash-retention", "8760h1ns", refused},
		{"trash-retention", "-1s", refused},
		{"garbage-grace", "0s", "0s"},
		{"garbage-grace", "-1ns", refused},

		{"env", "development", "true"},
		{"env", "production", "false"},
		{"env", "Production", refused},
		{"env", "", refused},
		{"log-format", "text", "text"},
		{"log-format", "xml", refused},
		{"thumbnails", "built-in", "built-in"},
		{"thumbnails", "vips", refused},
		{"log-level", "warn", "WARN"},
		{"log-level", "error", "ERROR"},
		{"log-level", "INFO+1", refused},
	}
	for _, tt := range tests {
		t.Run(tt.flag+"="+tt.value, func(t *testing.T) {
			t.Parallel()
			args := []string{"--" + tt.flag + "=" + tt.value}
			if tt.flag == "database-url" {
				args = append(args, "--secret-key="+goodKey)
			}
			if tt.want == refused {
				got := problems(t, args, nil)
				if len(got) != 1 || !strings.Contains(got[0].Text, "must") && !strings.Contains(got[0].Text, "is ") &&
					!strings.Contains(got[0].Text, "has ") && !strings.Contains(got[0].Text, "holds ") {
					t.Errorf("problems %q, want one that says what is right", got)
				}
				return
			}
			c, err := config.Load(args, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(read[tt.flag](c)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// The base URL if it is not given.
func TestBaseURLFollowsListen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		listen, base string
		ok           bool
		bound, at    string // the address after listening, and the base URL then
	}{
		{"127.0.0.1:8080", "http://127.0.0.1:8080", true, "127.0.0.1:8080", "http://127.0.0.1:8080"},
		{"192.0.2.5:8080", "http://192.0.2.5:8080", true, "192.0.2.5:8080", "http://192.0.2.5:8080"},
		{"Files.example:80", "http://files.example", true, "192.0.2.5:80", "http://files.example"},
		{"[::1]:8080", "http://[::1]:8080", true, "[::1]:8080", "http://[::1]:8080"},
		{"127.0.0.1:0", "", true, "127.0.0.1:41234", "http://127.0.0.1:41234"},
		{"127.8.8.8:0", "", true, "127.8.8.8:41234", "http://127.8.8.8:41234"},
		{"[::1]:0", "", true, "[::1]:41234", "http://[::1]:41234"},
		{"localhost:0", "", true, "127.0.0.1:41234", "http://localhost:41234"},
		{"192.0.2.5:0", "", false, "", ""},
		{"files.example:0", "", false, "", ""},
		{"0.0.0.0:8080", "", false, "", ""},
		{"0.0.0.0:0", "", false, "", ""},
		{"[::]:8080", "", false, "", ""},
		{"[::ffff:0.0.0.0]:8080", "", false, "", ""},
		{":8080", "", false, "", ""},
		{"[fe80::1%eth0]:8080", "", false, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.listen, func(t *testing.T) {
			t.Parallel()
			given, err := config.Load([]string{"--listen=" + tt.listen, "--base-url=https://files.example.org"}, nil)
			if err != nil || given.BaseURL != "https://files.example.org" ||
				given.BaseURLAt("127.0.0.1:1") != "https://files.example.org" {
				t.Errorf("with a base URL: %q, %v", given.BaseURL, err)
			}
			if !tt.ok {
				if got := problems(t, []string{"--listen=" + tt.listen}, nil); len(got) != 1 ||
					got[0].Setting != "base-url" || !strings.Contains(got[0].Text, "LARDER_BASE_URL") {
					t.Errorf("problems %q, want one with the base URL", got)
				}
				return
			}
			c, err := config.Load([]string{"--listen=" + tt.listen}, nil)
			if err != nil || c.BaseURL != tt.base {
				t.Fatalf("base URL %q, %v; want %q", c.BaseURL, err, tt.base)
			}
			if got := c.BaseURLAt(tt.bound); got != tt.at {
				t.Errorf("once bound: %q, want %q", got, tt.at)
			}
		})
	}
}

func TestSettingsThatNeedEachOther(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		want []string // settings with a problem
	}{
		"PostgreSQL without key": {[]string{"--database-url=postgres://db/x"}, []string{"secret-key"}},
		"PostgreSQL with key":    {[]string{"--database-url=postgres://db/x", "--secret-key=" + goodKey}, nil},
		"PostgreSQL with bad key": {[]string{"--database-url=postgres://db/x", "--secret-key=x"},
			[]string{"secret-key"}},
		"SQLite with key":       {[]string{"--secret-key=" + goodKey}, nil},
		"bad listen, no base":   {[]string{"--listen=nowhere"}, []string{"listen"}},
		"open listen, bad base": {[]string{"--listen=:1", "--base-url=nowhere"}, []string{"base-url"}},
		"content URL equal to the base URL": {[]string{"--content-url=https://A.b", "--base-url=https://a.b/"},
			[]string{"content-url"}},
		"ops listener equal to the public one": {[]string{"--listen=127.0.0.1:1", "--ops-listen=127.0.0.1:1"},
			[]string{"ops-listen"}},
		"both on any port": {[]string{"--listen=127.0.0.1:0", "--ops-listen=127.0.0.1:0"}, nil},
		"captcha whole": {[]string{"--captcha-verify-url=http://c/v", "--captcha-secret=s",
			"--captcha-provider=recaptcha"}, nil},
		"captcha without widget":  {[]string{"--captcha-verify-url=http://c/v", "--captcha-secret=s"}, nil},
		"captcha without secret":  {[]string{"--captcha-verify-url=http://c/v"}, []string{"captcha-secret"}},
		"captcha without address": {[]string{"--captcha-secret=s"}, []string{"captcha-verify-url"}},
		"captcha with a bad address": {[]string{"--captcha-secret=s", "--captcha-verify-url=c"},
			[]string{"captcha-verify-url"}},
		"captcha with a password": {[]string{"--captcha-secret=s", "--captcha-verify-url=http://u:p@c/"},
			[]string{"captcha-verify-url"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.want == nil {
				if _, err := config.Load(tt.args, nil); err != nil {
					t.Error(err)
				}
				return
			}
			var got []string
			for _, p := range problems(t, tt.args, nil) {
				got = append(got, p.Setting)
			}
			if strings.Join(got, " ") != strings.Join(tt.want, " ") {
				t.Errorf("problems with %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content string
		wrong   string // part of the only problem, "" for none
	}{
		"empty":                {"", ""},
		"comments":             {"# nothing\n", ""},
		"numbers as text":      {"auth_rate_limit = \"7\"\nmin_free = 1024\nallow_registration = \"true\"", ""},
		"list as text":         {"trusted_proxies = \"10.0.0.0/8, 192.0.2.1\"", ""},
		"empty list":           {"trusted_proxies = []", ""},
		"text as number":       {"admin_username = 12345", "admin_username must be text in quotes"},
		"list for text":        {"admin_username = [\"x\"]", "admin_username must be text in quotes"},
		"number for boolean":   {"allow_registration = 1", "allow_registration must be true or false"},
		"boolean for number":   {"auth_rate_limit = true", "auth_rate_limit must be a whole number"},
		"fraction for number":  {"auth_rate_limit = 1.5", "auth_rate_limit must be a whole number"},
		"number for duration":  {"link_max_age = 0", "link_max_age must be text"},
		"numbers in a list":    {"trusted_proxies = [1]", "trusted_proxies must hold texts only"},
		"table for a setting":  {"[listen]\nport = 1", "listen must be text in quotes"},
		"flag name as key":     {"data-dir = \"x\"", "data-dir is not a setting"},
		"upper case":           {"DATA_DIR = \"x\"", "DATA_DIR is not a setting"},
		"config in the config": {"config = \"x\"", "config is not a setting"},
		"bad value in a list":  {"trusted_proxies = [\"10.0.0.0/8\", \"x\"]", "holds \"x\""},
		"syntax":               {"# one\nlisten = 127.0.0.1:1", "line 2 is not TOML"},
		"twice":                {"listen = \"127.0.0.1:1\"\nlisten = \"127.0.0.1:2\"", "already"},
		"wrong value, named":   {"auth_rate_limit = 0", "auth_rate_limit=\"0\" must be a whole number from 1"},
		"empty key":            {"secret_key = \"\"", "secret_key must be 32 random bytes"},
		"an empty key":         {"\"\" = 1", " is not a setting"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writeFile(t, tt.content)
			if tt.wrong == "" {
				if _, err := config.Load([]string{"--config", path}, nil); err != nil {
					t.Error(err)
				}
				return
			}
			got := problems(t, []string{"--config", path}, nil)
			if len(got) != 1 || !strings.HasPrefix(got[0].Text, path+": ") || !strings.Contains(got[0].Text, tt.wrong) {
				t.Errorf("problems %q, want one of %s with %q", got, path, tt.wrong)
			}
		})
	}
	missing := filepath.Join(t.TempDir(), "missing.toml")
	for _, place := range []struct{ args, environ []string }{{[]string{"--config=" + missing}, nil},
		{nil, []string{"LARDER_CONFIG=" + missing}}} {
		if got := problems(t, place.args, place.environ); len(got) != 1 || got[0].Setting != "config" ||
			!strings.Contains(got[0].Text, missing) {
			t.Errorf("a file that isn't there: %q", got)
		}
	}
	if _, err := os.Stat(missing); !os.IsNotExist(err) {
		t.Errorf("the missing file was made: %v", err)
	}
}

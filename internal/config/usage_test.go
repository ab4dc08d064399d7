package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of settings into docs/operate.md")

// Every setting of the service, with its default as the help shows it.
var wantSettings = []struct{ env, flag, def string }{
	{"LARDER_CONFIG", "--config FILE", "none"},
	{"LARDER_LISTEN", "--listen TEXT", "127.0.0.1:8080"},
	{"LARDER_BASE_URL", "--base-url TEXT", "http:// + the listen address"},
	{"LARDER_TRUSTED_PROXIES", "--trusted-proxies LIST", "none"},
	{"LARDER_CONTENT_URL", "--content-url TEXT", "none"},
	{"LARDER_OPS_LISTEN", "--ops-listen TEXT", "none"},
	{"LARDER_DATA_DIR", "--data-dir TEXT", "./data"},
	{"LARDER_OBJECT_DIR", "--object-dir TEXT", "objects in the data directory"},
	{"LARDER_MIN_FREE", "--min-free SIZE", "256MiB"},
	{"LARDER_OBJECT_CACHE", "--object-cache SIZE", "32MiB"},
	{"LARDER_ENTRY_CACHE", "--entry-cache SIZE", "8MiB"},
	{"LARDER_DATABASE_CACHE", "--database-cache SIZE", "24MiB"},
	{"LARDER_SCRUB_RATE", "--scrub-rate SIZE", "20MiB"},
	{"LARDER_SCRUB_BUCKETS", "--scrub-buckets", "false"},
	{"LARDER_SCRUB_BACKUP", "--scrub-backup TEXT", "none"},
	{"LARDER_DATABASE_URL", "--database-url TEXT", "SQLite in the data directory"},
	{"LARDER_REDIS_URL", "--redis-url TEXT", "kept in the process"},
	{"LARDER_SECRET_KEY", "--secret-key TEXT", "made at the first start, in the data directory"},
	{"LARDER_ADMIN_USERNAME", "--admin-username TEXT", "admin"},
	{"LARDER_ADMIN_EMAIL", "--admin-email TEXT", "admin@localhost"},
	{"LARDER_ADMIN_PASSWORD", "--admin-password TEXT", "random, printed once"},
	{"LARDER_ALLOW_REGISTRATION", "--allow-registration", "false"},
	{"LARDER_RATE_LIMIT_ENABLED", "--rate-limit-enabled", "true"},
	{"LARDER_RATE_LIMIT_PER_MINUTE", "--rate-limit-per-minute NUMBER", "600"},
	{"LARDER_AUTH_RATE_LIMIT", "--auth-rate-limit NUMBER", "5"},
	{"LARDER_DEFAULT_MAX_STORAGE", "--default-max-storage SIZE", "10GiB"},
	{"LARDER_DEFAULT_MAX_FILES", "--default-max-files NUMBER", "100000"},
	{"LARDER_ALLOW_PRIVATE_ENDPOINTS", "--allow-private-endpoints LIST", "none"},
	{"LARDER_FREE_MODE_ALLOW_PRIVATE_ENDPOINTS", "--free-mode-allow-private-endpoints LIST", "none"},
	{"LARDER_SMTP_ALLOW_PRIVATE", "--smtp-allow-private LIST", "127.0.0.0/8,::1/128"},
	{"LARDER_BACKUP_ENDPOINT", "--backup-endpoint TEXT", "none"},
	{"LARDER_BACKUP_REGION", "--backup-region TEXT", "us-east-1"},
	{"LARDER_BACKUP_ACCESS_KEY_ID", "--backup-access-key-id TEXT", "none"},
	{"LARDER_BACKUP_SECRET_ACCESS_KEY", "--backup-secret-access-key TEXT", "none"},
	{"LARDER_BACKUP_PATH_STYLE", "--backup-path-style", "true"},
	{"LARDER_CAPTCHA_VERIFY_URL", "--captcha-verify-url TEXT", "none"},
	{"LARDER_CAPTCHA_SECRET", "--captcha-secret TEXT", "none"},
	{"LARDER_CAPTCHA_PROVIDER", "--captcha-provider TEXT", "none"},
	{"LARDER_LINK_MAX_AGE", "--link-max-age DURATION", "1h"},
	{"LARDER_LOG_RETENTION", "--log-retention DURATION", "90d"},
	{"LARDER_TRASH_RETENTION", "--trash-retention DURATION", "30d"},
	{"LARDER_GARBAGE_GRACE", "--garbage-grace DURATION", "1h"},
	{"LARDER_THUMBNAILS", "--thumbnails TEXT", "auto"},
	{"LARDER_ENV", "--env TEXT", "production"},
	{"LARDER_LOG_FORMAT", "--log-format TEXT", "auto"},
	{"LARDER_LOG_LEVEL", "--log-level TEXT", "info"},
}

func TestUsageListsEverySetting(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := Usage(&out); err != nil {
		t.Fatal(err)
	}
	entry := regexp.MustCompile(`(?m)^  (--.*)\n        (\S.*)\n        (LARDER_[A-Z_]+), default: (.*)$`)
	found := entry.FindAllStringSubmatch(out.String(), -1)
	if len(found) != len(wantSettings) || strings.Count(out.String(), "\n  --") != len(wantSettings) {
		t.Fatalf("%d settings are listed, want %d:\n%s", len(found), len(wantSettings), out.String())
	}
	for i, want := range wantSettings {
		if got := found[i]; got[1] != want.flag || got[3] != want.env || got[4] != want.def || len(got[2]) < 8 {
			t.Errorf("listed %q, want %q", got[1:], want)
		}
	}
	if strings.Contains(out.String(), "`") {
		t.Error("the help holds Markdown")
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestUsageReportsABrokenPipe(t *testing.T) {
	t.Parallel()
	if err := Usage(brokenPipe{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("error %v, want the pipe's", err)
	}
}

// docs/operate.md contains the current table; `go generate ./internal/config` writes it.
func TestDocument(t *testing.T) {
	t.Parallel()
	const (
		path  = "../../docs/operate.md"
		begin = "<!-- The table is written by: go generate ./internal/config -->\n"
		end   = "<!-- end of the table -->\n"
	)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), begin)
	shown, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s lacks the two lines around the table", path)
	}
	var table strings.Builder
	table.WriteString(
		"\n| variable | flag | default | meaning |\n| --- | --- | --- | --- |\n" +
			"| `LARDER_CONFIG` | `--config` | none | the TOML file |\n")
	for _, s := range settings {
		fmt.Fprintf(&table, "| `%s` | `--%s` | %s | %s |\n", s.env(), s.flag, s.describeDefault(), s.meaning)
	}
	table.WriteString("\n")
	if table.String() == shown {
		return
	}
	if !*update {
		t.Fatalf("the table in %s is stale: run go generate ./internal/config", path)
	}
	if err := os.WriteFile(path, []byte(before+begin+table.String()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

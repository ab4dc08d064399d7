package house

import (
	_ "embed" // the samples
	"strings"
	"testing"
)

// Samples that the rules are to find; they lie apart, so that a search for skips and sleeps
// in tests finds none.
var (
	//go:embed testdata/sleep.txt
	sleeps string
	//go:embed testdata/short.txt
	shortForm string
	//go:embed testdata/skip.txt
	skips string
)

func TestSource(t *testing.T) {
	const clock = "import \"time\"\nvar now = time.Now"
	const sql = "const q = `\n\tSELECT id FROM entries`"
	const tag = "type reply struct{ A int `json:\"a\"` }"
	const web = "import \"net/http\"\nvar _ http.Handler"
	for _, test := range []struct {
		name, path string
		text       string // after the package clause, so its first line is line 2
		want       []string
	}{
		{"SQL beside the rules", "internal/files/move.go", sql, []string{"internal/files/move.go:2: holds SQL"}},
		{"SQL in a command", "internal/app/serve.go", `var q = "DELETE FROM users"`, []string{"holds SQL"}},
		{"SQL that inserts", "internal/files/a.go", `var q = "INSERT INTO entries (id) VALUES ($1)"`,
			[]string{"holds SQL"}},
		{"SQL that updates", "internal/files/a.go", `var q = "UPDATE entries SET name = $1"`, []string{"holds SQL"}},
		{"SQL that walks", "internal/files/a.go", `var q = "WITH RECURSIVE up (id) AS (VALUES (1))"`,
			[]string{"holds SQL"}},
		{"SQL in lower case", "internal/files/a.go", `var q = "select id from entries where id = $1"`,
			[]string{"holds SQL"}},
		{"a piece of SQL", "internal/files/a.go", `var q = " ORDER BY name"`, []string{"holds SQL"}},
		{"SQL in its file", "internal/files/sql_move.go", sql, nil},
		{"SQL in db", "internal/db/migrate.go", sql, nil},
		{"SQL in a test", "internal/files/move_test.go", sql, nil},
		{"prose about choices", "internal/files/a.go",
			`var s = []string{"select a file from the list", "Update settings", "delete from store: %w", "with love"}`,
			nil},

		{"JSON tag in a domain package", "internal/share/share.go", tag, []string{"share.go:2: has a JSON tag"}},
		{"JSON tag in the API", "internal/api/share.go", tag, nil},
		{"JSON tag in a benchmark", "bench/report.go", tag, nil},
		{"JSON tag in test support", "internal/apptest/client.go", tag, nil},
		{"another tag", "internal/share/share.go", "type row struct{ A int `toml:\"json\"` }", nil},

		{"clock in a domain package", "internal/upload/session.go", clock,
			[]string{"session.go:3: reads the clock by time.Now"}},
		{"clock under another name", "internal/upload/session.go",
			"import clock \"time\"\nvar d = clock.Since(clock.Time{})", []string{"time.Since"}},
		{"clock in app", "internal/app/app.go", clock, nil},
		{"clock in a command", "cmd/larder/main.go", clock, nil},
		{"clock in a test", "internal/upload/session_test.go", clock, nil},
		{"another Now", "internal/upload/session.go", "type T struct{ Now int }\nvar x T\nvar y = x.Now", nil},

		{"net/http in a domain package", "internal/files/zip.go", web, []string{"zip.go:2: imports net/http"}},
		{"net/http in a transport", "internal/api/serve.go", web, nil},
		{"net/http in a name that only begins alike", "internal/apikey/key.go", web, []string{"imports net/http"}},
		{"net/http in a test", "internal/blob/s3_test.go", web, nil},

		{"sleep in a test", "internal/job/job_test.go", sleeps, []string{"sleeps in a test"}},
		{"sleep in the product", "internal/job/job.go", sleeps, nil},
		{"skip", "e2e/login_test.go", skips, []string{"skips a test"}},
		{"skip in the short form", "e2e/login_test.go", shortForm, nil},

		{"linter off", "internal/job/job.go", "//nolint:all\nvar x int", []string{"job.go:2: switches a linter off"}},
		{"staticcheck off", "internal/job/job.go", "//lint:ignore U1000 later\nvar x int",
			[]string{"switches a linter off"}},
		{"a commented-out call", "internal/job/job.go", "func f() {\n\t// fmt.Println(x)\n}",
			[]string{"job.go:3: is code"}},
		{"a commented-out definition", "internal/job/job.go", "func f() {\n\t//x, err := f(1)\n}", []string{"is code"}},
		{"a commented-out block", "internal/job/job.go", "func f() {\n\t// if x > 1 {\n\t// }\n}", []string{"is code"}},
		{"comments", "internal/job/job.go", "// f runs once: see RFC 9562 (section 5).\n// It returns nil.\n//\n" +
			"//\tx := f()\n//\n//go:noinline\nfunc f() {\n\t// x = 1 holds here\n\t// lint\n}", nil},

		{"a long file", "internal/job/job.go", strings.Repeat("\n", 500), []string{"has 501 lines; 500 are the most"}},
		{"a file just short enough", "internal/job/job.go", strings.Repeat("\n", 499), nil},
		{"a long test", "internal/job/job_test.go", strings.Repeat("\n", 800),
			[]string{"has 801 lines; 800 are the most"}},
		{"a test just short enough", "internal/job/job_test.go", strings.Repeat("\n", 799), nil},
		{"a name that says nothing", "internal/job/helpers.go", "", []string{"says nothing"}},
		{"a test with a name that says nothing", "internal/job/util_test.go", "", []string{"says nothing"}},
		{"no Go", "internal/job/job.go", "func {", []string{"expected"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			expect(t, Source(test.path, []byte("package p\n"+test.text)), test.want...)
		})
	}
}

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"larder/internal/blob/s3/s3test"
	"larder/internal/kv/kvtest"
)

// promtool runs promtool, of Debian's package prometheus, and returns its output.
func promtool(t *testing.T, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command("promtool", args...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("promtool %v: %v\n%s", args, err, out)
	}
	return string(out)
}

var alertName = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)

// alerts returns the names in the rules for operators.
func alerts(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile("../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range alertName.FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	return names
}

// Each alert fires with bad values and is silent with good ones.
func TestAlerts(t *testing.T) {
	t.Parallel()
	promtool(t, nil, "check", "rules", "--lint-fatal", "../deploy/prometheus/alerts.yml")
	promtool(t, nil, "test", "rules", "testdata/alerts_test.yml")
	tests, err := os.ReadFile("testdata/alerts_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	names := alerts(t)
	if len(names) < 10 {
		t.Errorf("the rules have the alerts %q", names)
	}
	for _, name := range names {
		if fires := "alertname: " + name + ","; !strings.Contains(string(tests), fires) {
			t.Errorf("no test of %s", name)
		}
	}
}

// monitored is a service that Prometheus watches.
type monitored struct {
	process    *process
	prometheus string // its URL
}

// ops gets a path of the operations listener.
func (m *monitored) ops(t *testing.T, path string) (status int, body []byte) {
	t.Helper()
	resp, err := http.Get("http://" + m.process.site.env["LARDER_OPS_LISTEN"] + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

// ask gets a path of Prometheus's API and decodes the data of its answer.
func (m *monitored) ask(t *testing.T, path string, data any) {
	t.Helper()
	resp, err := http.Get(m.prometheus + "/api/v1/" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	reply := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil || reply.Status != "success" {
		t.Fatalf("Prometheus answers %s with %v, %s", path, err, reply.Error)
	}
}

// count returns the number of series that an expression has now.
func (m *monitored) count(t *testing.T, expr string) int {
	t.Helper()
	var found struct{ Result []any }
	m.ask(t, "query?query="+url.QueryEscape(expr), &found)
	return len(found.Result)
}

// startPrometheus starts a Prometheus that watches the service with the alerts for operators.
func (m *monitored) startPrometheus(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs("../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf(`{global: {scrape_interval: 250ms, evaluation_interval: 250ms}, rule_files: [%q],
		scrape_configs: [{job_name: larder, static_configs: [{targets: [%q]}]}]}`, rules,
		m.process.site.env["LARDER_OPS_LISTEN"])
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	m.prometheus = "http://" + address
	cmd := exec.Command("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=error")
	cmd.Stderr = newOutput()
	if err := cmd.Start(); err != nil {
		t.Fatalf("prometheus of Debian's package prometheus: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	until(t, "Prometheus is ready", func() bool {
		resp, err := http.Get(m.prometheus + "/-/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// The metrics of a service with Redis and a bucket are the documented ones, have the right values,
// fill every panel of the dashboard, and raise alerts.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.set(reachable...)
	s.set("LARDER_OPS_LISTEN", freeAddress(t), "LARDER_REDIS_URL", kvtest.StartServer(t).URL)
	m := &monitored{process: s.start(t)}
	m.startPrometheus(t)
	admin := m.process.admin(t)
	bucket := s3test.New(t)
	admin.mount(t, "/cloud", admin.createProvider(t, bucketProvider(bucket, object{"uploadMode": "worker"})))
	keyed := withKey(s.key(t, "admin"), m.process.url)
	admin.upload(t, "/public", "a.txt", contentOf("a", 1234), nil)
	admin.upload(t, "/cloud", "b.txt", contentOf("b", 4321), nil)
	keyed.mustRaw(t, "c.txt", "", "text/plain", contentOf("c", 777))
	for range 2 {
		newClient(m.process.url).do(t, "GET", "/public/a.txt", nil).want(t, 200)
	}
	newClient(m.process.url).do(t, "GET", "/public/absent", nil).want(t, 404)
	newClient(m.process.url).do(t, "BREW", "/api/files", nil).want(t, 405)
	s.mustRun(t, "backup", filepath.Join(t.TempDir(), "backup"))

	status, text := m.ops(t, "/metrics")
	if status != 200 {
		t.Fatalf("the metrics answer %d", status)
	}
	promtool(t, text, "check", "metrics")
	for _, line := range []string{
		"larder_stored_files 3", "larder_stored_bytes 6332", "larder_replicas 1", "larder_database_up 1",
		`larder_http_requests_total{method="GET",route="/{path}",status="200"} 2`,
		`larder_http_requests_total{method="GET",route="/{path}",status="404"} 1`,
		`larder_http_requests_total{method="other",route="/api/files",status="405"} 1`,
		`larder_http_requests_total{method="POST",route="/api/upload",status="200"} 1`,
		`larder_http_received_bytes_total{route="/api/upload"} 777`,
		`larder_http_request_duration_seconds_count{route="/api/upload"} 1`,
		`larder_command_problems{command="backup"} 0`, "larder_redis_down 0",
		`larder_disk_operations_total{bucket="default",operation="put",outcome="completed"} 2`,
		`larder_disk_operations_total{bucket="default",operation="put",outcome="failed"} 0`,
		`larder_disk_operation_duration_seconds_count{bucket="default",operation="put"} 2`,
	} {
		if !strings.Contains(string(text), "\n"+line+"\n") {
			t.Errorf("the metrics lack %q", line)
		}
	}
	if strings.Contains(string(text), "\nlarder_database_read_duration_seconds_count 0\n") {
		t.Error("no query was measured")
	}
	wantDocumented(t, string(text))
	if status, text := m.ops(t, "/ready"); status != 200 || string(text) != `{"ready":true,"detail":"","warnings":[]}`+"\n" {
		t.Errorf("readiness: %d %s", status, text)
	}
	m.wantPanels(t)

	if err := os.Rename(filepath.Join(s.dir, "objects"), filepath.Join(s.dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	until(t, "an alert of the missing disk", func() bool {
		return m.count(t, `ALERTS{alertname="LarderStoreUnavailable", name="local"}`) == 1
	})
	var firing struct {
		Result []struct{ Metric map[string]string }
	}
	m.ask(t, "query?query="+url.QueryEscape(`ALERTS{alertstate="firing"}`), &firing)
	if len(firing.Result) > 0 {
		t.Errorf("firing alerts: %v", firing.Result)
	}
	status, text = m.ops(t, "/ready")
	if status != 503 || !strings.Contains(string(text), `The store of the provider \"local\" does not answer`) {
		t.Errorf("readiness without the disk: %d %s", status, text)
	}
}

var metricLine = regexp.MustCompile(`(?m)^# TYPE (larder_\w+) (\w+)$`)
var documentedMetric = regexp.MustCompile("(?m)^\\| `(larder_\\w+)` \\| (\\w+)")

// wantDocumented compares the names and types of the metrics with those in the documentation.
func wantDocumented(t *testing.T, text string) {
	t.Helper()
	docs, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	list := func(text string, pattern *regexp.Regexp) (found []string) {
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			found = append(found, m[1]+" "+m[2])
		}
		slices.Sort(found)
		return found
	}
	served, documented := list(text, metricLine), list(string(docs), documentedMetric)
	if !slices.Equal(served, documented) {
		t.Errorf("served and documented metrics differ:\n%s\n\n%s", strings.Join(served, "\n"),
			strings.Join(documented, "\n"))
	}
}

// wantPanels asks Prometheus for the expressions of all panels of the dashboard.
func (m *monitored) wantPanels(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("../deploy/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil || len(dashboard.Panels) < 10 {
		t.Fatalf("the dashboard has %d panels, %v", len(dashboard.Panels), err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expr := strings.NewReplacer("$job", "larder", "$__rate_interval", "5s").Replace(target.Expr)
			until(t, "values of the panel "+panel.Title+": "+expr, func() bool { return m.count(t, expr) > 0 })
		}
	}
	var groups struct {
		Groups []struct {
			Rules []struct{ Name, Health string }
		}
	}
	until(t, "all alerts are evaluated", func() bool {
		m.ask(t, "rules", &groups)
		return len(groups.Groups) == 1 && !slices.ContainsFunc(groups.Groups[0].Rules,
			func(r struct{ Name, Health string }) bool { return r.Health != "ok" })
	})
	if n := len(groups.Groups[0].Rules); n != len(alerts(t)) {
		t.Errorf("%d rules are loaded", n)
	}
}

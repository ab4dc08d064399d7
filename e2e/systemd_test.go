package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"larder/internal/thumb/thumbtest"
)

const systemdUnit = "../deploy/larder.service"

// systemdAnalyze runs systemd-analyze, which needs no running systemd.
func systemdAnalyze(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("systemd-analyze", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("systemd-analyze %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// callSets returns the sets of system calls that systemd knows, with the names of the calls and of
// the sets in each.
func callSets(t *testing.T) map[string][]string {
	t.Helper()
	sets, name := map[string][]string{}, ""
	for line := range strings.Lines(systemdAnalyze(t, "--no-pager", "syscall-filter")) {
		word := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "@"):
			name = word
		case strings.HasPrefix(line, "#"):
			name = "" // calls of the kernel that are in no set
		case name != "" && word != "" && !strings.HasPrefix(word, "#"):
			sets[name] = append(sets[name], word)
		}
	}
	return sets
}

// allowedCalls returns the system calls that the unit allows.
func allowedCalls(t *testing.T) []string {
	t.Helper()
	sets := callSets(t)
	var expand func(word string) []string
	expand = func(word string) (calls []string) {
		if !strings.HasPrefix(word, "@") {
			return []string{word}
		}
		if len(sets[word]) == 0 {
			t.Fatalf("systemd knows no set %s", word)
		}
		for _, member := range sets[word] {
			calls = append(calls, expand(member)...)
		}
		return calls
	}
	text, err := os.ReadFile(systemdUnit)
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		list, found := strings.CutPrefix(strings.TrimSpace(line), "SystemCallFilter=")
		if !found {
			continue
		}
		list, removed := strings.CutPrefix(list, "~")
		for _, word := range strings.Fields(list) {
			for _, call := range expand(word) {
				if allowed[call] = true; removed {
					delete(allowed, call)
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(allowed))
}

// The systemd units are valid, and the services are hardened: systemd rates their exposure at 2.0
// or less.
func TestSystemdUnitIsHardened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"larder.service", "larder-backup.service", "larder-backup.timer"} {
		unit := filepath.Join(filepath.Dir(systemdUnit), name)
		if strings.HasSuffix(name, ".service") {
			systemdAnalyze(t, "--no-pager", "security", "--offline=true", "--threshold=20", unit)
		}
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		startable := filepath.Join(dir, name) // systemd looks for the program, and for the service of the timer
		installed := strings.Replace(string(text), "/usr/local/bin/larder", binary, 1)
		if err := os.WriteFile(startable, []byte(installed), 0o600); err != nil {
			t.Fatal(err)
		}
		if said := systemdAnalyze(t, "verify", startable); strings.Contains(said, name+":") {
			t.Errorf("systemd said %s", said)
		}
	}
}

// Larder works with the system calls that the systemd unit allows: all others fail, as they do
// under systemd.
func TestSystemdUnitAllowsEnough(t *testing.T) {
	t.Parallel()
	allowed := allowedCalls(t)
	if len(allowed) < 200 {
		t.Fatalf("the unit allows only %d system calls", len(allowed))
	}
	set := "!?" + strings.Join(allowed, ",?")
	s := newSite(t)
	trace := filepath.Join(t.TempDir(), "trace")
	p := s.start(t, "strace", "-D", "-f", "-q", "--seccomp-bpf", "-o", trace, "-e", "signal=none", "-e", "trace="+set,
		"-e", "inject="+set+":error=EPERM")
	content := uploadFixedContent(t, p)
	content.wantServed(t, p)
	key := withKey(s.key(t, "admin"), p.url)
	for i, picture := range [][]byte{photograph(t), thumbtest.HEIC} { // the second needs libvips
		file := key.mustRaw(t, []string{"a.jpg", "b.heic"}[i], "", "application/octet-stream", picture)
		r := content.cookie.do(t, "GET", "/api/files/"+file.FileID+"/thumbnail?size=160", nil)
		if got := decodedSize(t, r); !strings.HasPrefix(got, "webp ") {
			t.Errorf("thumbnail %d is %q, want one by libvips", i, got)
		}
	}
	p.stop(t)
	refused, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 && !strings.Contains(string(refused), "fchown") { // SQLite calls it as root
		t.Error("no system call was refused")
	}
	if strings.Contains(p.stderr.String(), `"level":"ERROR"`) {
		t.Errorf("the log has errors; refused were:\n%s", refused)
	}
}

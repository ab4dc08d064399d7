package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"larder/internal/thumb/thumbtest"
)

const systemdUnits = "../deploy/"

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

// unitText returns the text of a unit.
func unitText(t *testing.T, unit string) string {
	t.Helper()
	text, err := os.ReadFile(systemdUnits + unit)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// allowedCalls returns the system calls that a unit allows.
func allowedCalls(t *testing.T, unit string) []string {
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
	allowed := map[string]bool{}
	for line := range strings.Lines(unitText(t, unit)) {
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
		if strings.HasSuffix(name, ".service") {
			systemdAnalyze(t, "--no-pager", "security", "--offline=true", "--threshold=20", systemdUnits+name)
		}
		startable := filepath.Join(dir, name) // systemd looks for the program, and for the service of the timer
		installed := strings.Replace(unitText(t, name), "/usr/local/bin/larder", binary, 1)
		if err := os.WriteFile(startable, []byte(installed), 0o600); err != nil {
			t.Fatal(err)
		}
		if said := systemdAnalyze(t, "verify", startable); strings.Contains(said, name+":") {
			t.Errorf("systemd said %s", said)
		}
	}
}

// sampleSettings returns the path of a copy of deploy/larder.toml in which all settings are in use.
func sampleSettings(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../deploy/larder.toml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "larder.toml")
	writeFile(t, setting.ReplaceAll(text, []byte("$1")), file)
	return file
}

// setting matches the beginning of a setting that is a comment.
var setting = regexp.MustCompile(`(?m)^# ([a-z_]+ = )`)

// startedBy returns the command line of a unit after the name of the program.
func startedBy(t *testing.T, unit, settings string, pairs ...string) []string {
	t.Helper()
	_, line, _ := strings.Cut(unitText(t, unit), "\nExecStart=/usr/local/bin/larder ")
	line, _, _ = strings.Cut(line, "\n")
	return strings.Fields(replaceOnce(t, unit, line, append(pairs, "/etc/larder/larder.toml", settings)...))
}

// confined returns a command, wrapper, that runs a program with the system calls that a unit
// allows. All other calls fail, as they do under systemd. refused returns the calls that have
// failed.
func confined(t *testing.T, unit string) (wrapper []string, refused func() string) {
	t.Helper()
	allowed := allowedCalls(t, unit)
	if len(allowed) < 200 {
		t.Fatalf("%s allows only %d system calls", unit, len(allowed))
	}
	set := "!?" + strings.Join(allowed, ",?")
	trace := filepath.Join(t.TempDir(), "trace")
	return []string{"strace", "-D", "-f", "-q", "--seccomp-bpf", "-o", trace, "-e", "signal=none", "-e", "trace=" + set,
			"-e", "inject=" + set + ":error=EPERM"}, func() string {
			text, err := os.ReadFile(trace)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
}

// Larder works with the settings of deploy/larder.toml and the system calls that the units allow,
// while it serves and while it makes a backup.
func TestSystemdUnitAllowsEnough(t *testing.T) {
	t.Parallel()
	settings := sampleSettings(t)
	if words := startedBy(t, "larder.service", settings); !slices.Equal(words, []string{"serve", "--config", settings}) {
		t.Errorf("the unit starts larder %v", words)
	}
	s := newSite(t)
	s.keepPort(t)
	s.env["LARDER_CONFIG"], s.env["LARDER_BASE_URL"] = settings, "http://"+s.env["LARDER_LISTEN"]
	serving, refused := confined(t, "larder.service")
	p := s.start(t, serving...)
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

	delete(s.env, "LARDER_CONFIG")
	to := filepath.Join(t.TempDir(), "backup")
	saving, refusedToBackup := confined(t, "larder-backup.service")
	backup := startedBy(t, "larder-backup.service", settings, "${BACKUP_TO}", to, "$BACKUP_OPTIONS", "--keep 7")
	words := append(append(saving, s.binary()), backup...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = s.environ()
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the backup: %v\n%s\nrefused were:\n%s", err, said, refusedToBackup())
	}
	if snapshots, err := filepath.Glob(to + "/snapshots/*/manifest.json"); err != nil || len(snapshots) != 1 {
		t.Errorf("the backup has the snapshots %v, %v", snapshots, err)
	}

	p.stop(t)
	for name, calls := range map[string]string{"serve": refused(), "backup": refusedToBackup()} {
		if os.Geteuid() == 0 && !strings.Contains(calls, "fchown") { // SQLite calls it as root
			t.Errorf("%s: no system call was refused", name)
		}
	}
	if strings.Contains(p.stderr.String(), `"level":"ERROR"`) {
		t.Errorf("the log has errors; refused were:\n%s", refused())
	}
}

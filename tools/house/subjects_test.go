package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The subjects of commits after this one are checked. Older ones were written before the rule.
const (
	base     = "1a686dc79f81ab5c50adfa0045f18520582a9823"
	baseTime = "2026-11-22T23:21:20+00:00" // a second after it was committed
)

func TestSubjectsFindsLongOnes(t *testing.T) {
	t.Parallel()
	expect(t, Subjects([]Commit{{"a1", "share: count a download"}, {"a2", strings.Repeat("é", 72)}}))
	expect(t, Subjects([]Commit{{"a1", "share: count"}, {"a2", strings.Repeat("é", 73)}}),
		"a2: has a subject of 73 characters; 72 are the most")
}

// TestSubjectsOfTheHistory checks the commits of this repository since the base. A clone that lacks
// the base checks the commits that it has by their dates, and a tree without a repository passes;
// the log says so.
func TestSubjectsOfTheHistory(t *testing.T) {
	t.Parallel()
	commits, remark := history(t, root)
	if remark != "" {
		t.Log(remark)
	}
	reportAll(t, Subjects(commits))
}

// TestHistory takes clones of a small repository apart: whole, without the base, and exported.
func TestHistory(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	git := func(dir string, args ...string) {
		t.Helper()
		args = append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org", "-c",
			"commit.gpgsign=false"}, args...)
		if out, err := gitCommand(args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	long := "web: " + strings.Repeat("x", 80)
	git(whole, "init", "-q")
	for _, subject := range []string{"web: one", long, "web: three"} {
		git(whole, "commit", "-q", "--allow-empty", "-m", subject)
	}
	commits, remark := history(t, whole)
	if !strings.Contains(remark, "does not have") {
		t.Errorf("a repository without the base is reported as %q", remark)
	}
	expect(t, Subjects(commits), "has a subject of 85 characters")

	shallow := filepath.Join(t.TempDir(), "shallow")
	git(whole, "clone", "-q", "--depth", "1", "file://"+whole, shallow)
	commits, _ = history(t, shallow)
	if len(commits) != 1 || commits[0].Subject != "web: three" {
		t.Errorf("a shallow clone has %v", commits)
	}
	expect(t, Subjects(commits))

	commits, remark = history(t, filepath.Join(t.TempDir()))
	if commits != nil || !strings.Contains(remark, "no repository") {
		t.Errorf("a tree without a repository has %v: %q", commits, remark)
	}
}

// gitCommand returns a command of git without the variables GIT_*. If git has started the tests, as
// `git rebase --exec` does, these variables select the repository of the caller instead of the
// directory in the arguments.
func gitCommand(args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "GIT_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	return cmd
}

// history returns the commits since the base, without merges, and what could not be checked.
func history(t *testing.T, dir string) ([]Commit, string) {
	t.Helper()
	if !isRepository(t, dir) {
		return nil, "this tree is no repository: no subjects to check"
	}
	since, remark := base+"..HEAD", ""
	if err := gitCommand("-C", dir, "cat-file", "-e", base+"^{commit}").Run(); err != nil {
		since, remark = "--since="+baseTime, "this clone does not have the commit "+base+": only what it has since "+
			baseTime+" is checked"
	}
	out, err := gitCommand("-C", dir, "log", "--no-merges", "--format=%h%x09%s", since, "--").Output()
	if err != nil {
		return nil, "git log: " + err.Error() + ": no subjects to check"
	}
	var commits []Commit
	for entry := range strings.Lines(string(out)) {
		id, subject, _ := strings.Cut(strings.TrimSuffix(entry, "\n"), "\t")
		commits = append(commits, Commit{id, subject})
	}
	return commits, remark
}

// isRepository reports whether the directory is the top of a git repository's work tree; a tree
// that was exported into somebody else's repository is not.
func isRepository(t *testing.T, dir string) bool {
	t.Helper()
	out, err := gitCommand("-C", dir, "rev-parse", "--show-prefix").Output()
	return err == nil && strings.TrimSpace(string(out)) == ""
}

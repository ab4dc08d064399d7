package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// testFirstVisit makes the first steps of the README: `make run` on an empty directory, the
// password that it prints, and the first visit in the browser with default settings. The test needs
// the tools that build the web UI.
func testFirstVisit(t *testing.T) {
	build := exec.Command("make", "build") // without the time limit of the start
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	p := makeRun(t)
	password := p.stdout.wait(t, p.exited, passwordLine)
	users := map[string]string{"en-US": "admin", "zh-CN": "admin"} // the scenario runs in one of the languages
	runBrowser(t, object{"base": p.url, "users": users, "password": password, "suite": "files",
		"only": "a first visit/", "opens": "home"}, nil)
}

// makeRun starts `make run` on a data directory that does not exist and waits until it is ready.
// All of its processes end with the test.
func makeRun(t *testing.T) *process {
	t.Helper()
	s := &site{dir: filepath.Join(t.TempDir(), "data")}
	s.env = map[string]string{"LARDER_LISTEN": freeAddress(t), "LARDER_DATA_DIR": s.dir}
	p := &process{site: s, cmd: exec.Command("make", "run"), stdout: newOutput(), stderr: newOutput(),
		exited: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = "..", p.stdout, p.stderr
	for _, variable := range os.Environ() { // go and npm need their variables
		if !strings.Contains(variable, "LARDER_") {
			p.cmd.Env = append(p.cmd.Env, variable)
		}
	}
	for name, value := range s.env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("make run: %v", err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.exited
		if t.Failed() {
			t.Logf("stdout of make run:\n%s\nstderr, the end:\n%s", p.stdout, tail(p.stderr.String(), 4000))
		}
	})
	p.ready(t)
	return p
}

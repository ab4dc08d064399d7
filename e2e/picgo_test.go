package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// picgoPatience is long for a program that takes half a second, and shorter than the time for which
// servers keep idle connections.
const picgoPatience = 45 * time.Second

// picgo uploads a file with the PicGo program and a configuration, and returns the address that it
// printed. The program ends when its connection ends, and editors wait for it: a server that keeps
// the connection open would delay every paste.
func picgo(t *testing.T, config, file string) string {
	t.Helper()
	home := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(home, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	configFile := write("config.json", config)
	// PicGo looks for plugins beside its configuration
	write("package.json", `{"name": "picgo-plugins", "dependencies": {"picgo-plugin-web-uploader": "*"}}`)
	modules, err := filepath.Abs("browser/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(home, "node_modules")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), picgoPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", filepath.Join(modules, "picgo", "bin", "picgo"), "-c", configFile, "upload",
		"--format", "json", file)
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("picgo did not end within %v; it printed\n%s", picgoPatience, out)
	}
	if err != nil {
		t.Fatalf("picgo: %v\n%s", err, out)
	}
	var results []struct{ ImgURL, FileName string }
	for _, line := range strings.Split(string(out), "\n") {
		if strings.HasPrefix(line, "[{") {
			if err := json.Unmarshal([]byte(line), &results); err != nil {
				t.Fatalf("picgo printed %q: %v", line, err)
			}
		}
	}
	if len(results) != 1 || results[0].ImgURL == "" {
		t.Fatalf("picgo printed no address:\n%s", out)
	}
	return results[0].ImgURL
}

// A picture is uploaded by the real client with the configuration that the service prints, and
// shown on a page of another site, both by the permanent link and by the address that image clients
// paste according to the specification.
func TestPicGo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.keepPort(t)
	p := s.start(t)
	path := filepath.Join(t.TempDir(), "猫 on the mat.jpg")
	picture, width := realPhotograph(t)
	if err := os.WriteFile(path, picture, 0o600); err != nil {
		t.Fatal(err)
	}
	direct := picgo(t, s.mustRun(t, "key", "create", "admin", "--for", "picgo"), path)
	admin := p.admin(t)
	stored := admin.walk(t, "/uploads")
	if len(stored) != 1 || stored[0].Name != "猫 on the mat.jpg" {
		t.Fatalf("/uploads holds the files %+v, want the picture under its name", stored)
	}
	id := stored[0].ID
	specified := p.url + "/api/files/" + id + "/download"
	if got := newClient(p.url).do(t, "GET", direct, nil).want(t, 200); hash(got.body) != hash(picture) ||
		got.header.Get("Content-Type") != "image/jpeg" {
		t.Errorf("the address that PicGo printed gives %d bytes of type %s", len(got.body),
			got.header.Get("Content-Type"))
	}

	pageFor := elsewhere(t)
	expect := func(when string, width int) {
		t.Helper()
		for i, got := range rendered(t, pageFor, direct, specified) {
			if got != width {
				t.Errorf("%s: %s rendered %d pixels wide, want %d", when, []string{direct, specified}[i], got, width)
			}
		}
	}
	expect("fresh", width)

	admin.do(t, "PUT", "/api/files/"+id, object{"name": "dog.png"}).want(t, 200)
	admin.mkdir(t, "/", "archive")
	var job struct{ Status string }
	admin.do(t, "POST", "/api/files/"+id+"/move", object{"targetPath": "/archive", "newName": "cat.jpg"}).
		data(t, 200, &job)
	if job.Status != "pending" {
		t.Errorf("the move answers status %q, want pending", job.Status)
	}
	if moved := admin.list(t, "/archive"); len(moved) != 1 || moved[0].ID != id {
		t.Fatalf("/archive holds %+v after the move", moved)
	}
	p.stop(t)
	p = s.start(t)
	expect("renamed, moved, restarted", width)

	admin = p.admin(t)
	admin.do(t, "DELETE", "/api/files/"+id+"/link", nil).want(t, 200)
	expect("link revoked", 0)
	if got := newClient(p.url).do(t, "GET", direct, nil); got.status != http.StatusNotFound {
		t.Errorf("the revoked link answers %d, want 404", got.status)
	}
}

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// imageUser is the user and group id of the image's program.
const imageUser = 65532

// images is a storage of container images of a test's own.
type images struct{ env []string }

func newImages(t *testing.T) *images {
	t.Helper()
	dir := t.TempDir()
	settings := filepath.Join(dir, "storage.conf")
	text := fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n", filepath.Join(dir, "graph"),
		filepath.Join(dir, "run"))
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &images{env: append(os.Environ(), "CONTAINERS_STORAGE_CONF="+settings, "IMAGE_BUILDER=buildah")}
}

// command returns a command that uses the storage.
func (i *images) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = i.env
	return cmd
}

// run runs a command that must succeed and returns its standard output.
func (i *images) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := i.command(name, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", name, args, err, out, errs.String())
	}
	return strings.TrimSpace(string(out))
}

// The small container image has the program, certificates and directories for volumes, which belong
// to the user of the program, and nothing else.
func TestContainerImage(t *testing.T) {
	t.Parallel()
	i := newImages(t)
	i.run(t, "../scripts/image", binary, "larder:test")
	i.serves(t)
	var files []string
	root := i.run(t, "buildah", "mount", i.run(t, "buildah", "from", "larder:test"))
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, strings.TrimPrefix(path, root))
		}
		return err
	})
	if want := []string{"/etc/ssl/certs/ca-certificates.crt", "/usr/local/bin/larder"}; err != nil ||
		!slices.Equal(files, want) {
		t.Errorf("the image has the files %q, %v", files, err)
	}
	for _, dir := range []string{"/data", "/objects", "/backups"} { // volumes of docs/operate.md and deploy/compose
		info, err := os.Stat(root + dir)
		if err != nil {
			t.Error(err)
		} else if stat, is := info.Sys().(*syscall.Stat_t); !is || stat.Uid != imageUser {
			t.Errorf("%s belongs to the user %d", dir, stat.Uid)
		}
	}
}

// serves checks that the image larder:test serves as a user without privileges, tells its health,
// and stops cleanly. It returns a container of the image.
func (i *images) serves(t *testing.T) (container string) {
	t.Helper()
	var image struct {
		Docker struct {
			Config struct {
				User        string
				Volumes     map[string]any
				Entrypoint  []string
				Healthcheck struct{ Test []string }
			}
		}
	}
	if err := json.Unmarshal([]byte(i.run(t, "buildah", "inspect", "--type", "image", "larder:test")), &image); err != nil {
		t.Fatal(err)
	}
	c := image.Docker.Config
	if c.User != fmt.Sprintf("%d:%d", imageUser, imageUser) || c.Volumes["/data"] == nil ||
		!slices.Equal(c.Entrypoint, []string{"/usr/local/bin/larder"}) ||
		!slices.Equal(c.Healthcheck.Test, []string{"CMD", "larder", "health"}) {
		t.Errorf("the image has the settings %+v", c)
	}
	container = i.run(t, "buildah", "from", "larder:test")
	s := newSite(t)
	s.set("LARDER_LISTEN", freeAddress(t), "LARDER_DATA_DIR", "/data")
	in := func(words ...string) *exec.Cmd {
		args := []string{"run", "--isolation", "chroot"}
		for name, value := range s.env {
			args = append(args, "--env", name+"="+value)
		}
		return i.command("buildah", slices.Concat(args, []string{container, "--"}, words)...)
	}
	p := spawn(t, in("larder", "serve"))
	p.site = s
	p.ready(t)
	admin := p.admin(t)
	content := contentOf("in a container", 100_000)
	file := admin.upload(t, "/public", "a.bin", content, nil)
	if got := newClient(p.url).do(t, "GET", file.full(), nil).want(t, 200).body; !bytes.Equal(got, content) {
		t.Errorf("read %d bytes of %d", len(got), len(content))
	}
	if out, err := in("larder", "health").CombinedOutput(); err != nil || string(out) != "ready\n" {
		t.Errorf("health: %q, %v", out, err)
	}
	server := serverWith(t, "LARDER_LISTEN="+s.env["LARDER_LISTEN"])
	owned := 0
	err := filepath.WalkDir(fmt.Sprintf("/proc/%d/root/data", server), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if stat, is := info.Sys().(*syscall.Stat_t); err == nil && (!is || stat.Uid != imageUser) {
			t.Errorf("%s belongs to the user %d", path, stat.Uid)
		}
		owned++
		return err
	})
	if err != nil || owned < 5 {
		t.Errorf("%d files and directories of data, %v", owned, err)
	}
	if err := syscall.Kill(server, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.ended(t); code != 0 {
		t.Errorf("the stop ended with %d", code)
	}
	if out, err := in("larder", "health").CombinedOutput(); err == nil || !strings.Contains(string(out), "not ready") {
		t.Errorf("health after the stop: %q, %v", out, err)
	}
	return container
}

// The image with libvips serves like the small one, and libvips starts in it. It takes minutes and
// a Debian mirror, so it is built in a soak only, which sets LARDER_TEST_IMAGES.
func TestContainerImageWithVips(t *testing.T) {
	t.Parallel()
	if os.Getenv("LARDER_TEST_IMAGES") == "" {
		text, err := os.ReadFile("../deploy/container/Containerfile.vips")
		if err != nil || !strings.Contains(string(text), "COPY rootfs /") {
			t.Errorf("the image with libvips is made of %q, %v", text, err)
		}
		return
	}
	i := newImages(t)
	i.run(t, "../scripts/image", "--vips", binary, "larder:test")
	container := i.serves(t)
	version := i.run(t, "buildah", "run", "--isolation", "chroot", container, "--", "vipsthumbnail", "--vips-version")
	if !strings.HasPrefix(version, "libvips 8") {
		t.Errorf("libvips prints %q", version)
	}
	for _, command := range [][]string{{"ffmpeg", "-version"}, {"pdftoppm", "-v"}} {
		i.run(t, "buildah", append([]string{"run", "--isolation", "chroot", container, "--"}, command...)...)
	}
}

// serverWith returns the id of the process of the program that has a variable, NAME=VALUE.
func serverWith(t *testing.T, variable string) int {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		environ, _ := os.ReadFile(name) // a process may have ended
		program, _ := os.Readlink(filepath.Join(filepath.Dir(name), "exe"))
		if filepath.Base(program) == "larder" && slices.Contains(strings.Split(string(environ), "\x00"), variable) {
			id, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
	}
	t.Fatalf("no process has %s; this test has to run as root", variable)
	return 0
}

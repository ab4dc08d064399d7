package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The name in the files of deploy/proxy, and the address from which the tests connect to a proxy.
const (
	publicHost    = "files.example.org"
	publicURL     = "https://" + publicHost
	clientAddress = "127.0.0.2"
)

// proxied is a site behind a proxy that runs with its file of deploy/proxy.
type proxied struct {
	*site
	server, proxy    *process
	dir              string // all files of the proxy
	plain, encrypted string // the addresses on which the proxy serves http and https
	certificates     *x509.CertPool
}

// proxyCommands are the proxies of the tests, with the commands that run them in the foreground in
// one process.
var proxyCommands = map[string]func(t *testing.T, f *proxied) *exec.Cmd{
	"nginx": nginx, "Caddy": caddy, "HAProxy": haproxy,
}

func nginx(t *testing.T, f *proxied) *exec.Cmd {
	t.Helper()
	f.configure(t, "nginx.conf",
		"listen 80;", "listen "+f.plain+";",
		"listen [::]:80;", "listen "+freeAddress(t)+";",
		"listen 443 ssl", "listen "+f.encrypted+" ssl",
		"listen [::]:443 ssl", "listen "+freeAddress(t)+" ssl",
		"/etc/ssl/files.example.org.pem", f.file("certificate.pem"),
		"/etc/ssl/private/files.example.org.key", f.file("key.pem"))
	// the settings around the file are those of Debian, except for the paths
	around := "daemon off;\nmaster_process off;\npid pid;\nerror_log stderr;\nevents { worker_connections 768; }\n" +
		"http {\nsendfile on;\ntcp_nopush on;\ngzip on;\ngzip_types *;\naccess_log access.log;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		around += kind + "_temp_path " + kind + ";\n"
	}
	writeFile(t, []byte(around+"include nginx.conf;\n}\n"), f.dir, "main.conf")
	return exec.Command(installed(t, "nginx"), "-p", f.dir, "-e", "stderr", "-c", f.file("main.conf"))
}

func caddy(t *testing.T, f *proxied) *exec.Cmd {
	t.Helper()
	f.configure(t, "Caddyfile",
		"localhost:2019", freeAddress(t),
		"http_port 80", "http_port "+portOf(f.plain),
		"https_port 443", "https_port "+portOf(f.encrypted)+"\n\tdefault_bind 127.0.0.1",
		"/etc/ssl/files.example.org.pem", f.file("certificate.pem"),
		"/etc/ssl/private/files.example.org.key", f.file("key.pem"))
	return caddyWith(t, f)
}

// caddyWith returns the command that runs Caddy with the Caddyfile in the directory of the proxy.
func caddyWith(t *testing.T, f *proxied) *exec.Cmd {
	t.Helper()
	return exec.Command(installed(t, "caddy"), "run", "--adapter", "caddyfile", "--config", f.file("Caddyfile"))
}

func haproxy(t *testing.T, f *proxied) *exec.Cmd {
	t.Helper()
	f.configure(t, "haproxy.cfg",
		"bind :::80 v4v6", "bind "+f.plain,
		"bind :::443 v4v6", "bind "+f.encrypted,
		"/etc/ssl/private/files.example.org.pem", f.file("both.pem"),
		"user haproxy", "uid "+strconv.Itoa(os.Getuid()),
		"group haproxy", "gid "+strconv.Itoa(os.Getgid()),
		"\tchroot /var/lib/haproxy\n", "")
	return exec.Command(installed(t, "haproxy"), "-db", "-f", f.file("haproxy.cfg"))
}

// configure writes a file of deploy/proxy into the directory of the proxy. It replaces the address
// of Larder and the given pairs of texts, each of which must be in the file once.
func (f *proxied) configure(t *testing.T, name string, pairs ...string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../deploy/proxy", name))
	if err != nil {
		t.Fatal(err)
	}
	pairs = append(pairs, "127.0.0.1:8080", strings.TrimPrefix(f.server.url, "http://"))
	writeFile(t, []byte(replaceOnce(t, name, string(raw), pairs...)), f.dir, name)
}

// replaceOnce replaces pairs of texts in the text of a file, each of which must be in it once.
func replaceOnce(t *testing.T, name, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if n := strings.Count(text, pairs[i]); n != 1 {
			t.Fatalf("%s has %q %d times", name, pairs[i], n)
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func (f *proxied) file(name string) string { return filepath.Join(f.dir, name) }

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address) // freeAddress made it
	return port
}

// installed returns the path of a program, which may lie in /usr/sbin.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// newProxied starts a site and a proxy in front of it, and waits until both answer.
func newProxied(t *testing.T, command func(t *testing.T, f *proxied) *exec.Cmd) *proxied {
	t.Helper()
	f := &proxied{site: newSite(t), dir: t.TempDir(), plain: freeAddress(t), encrypted: freeAddress(t)}
	f.keepPort(t)
	f.env["LARDER_BASE_URL"] = publicURL
	// The range contains the address of the client too, as it often does in a private network. So
	// the log shows it only if no entry of the client stands before it in X-Forwarded-For.
	f.env["LARDER_TRUSTED_PROXIES"] = "127.0.0.0/8"
	f.server = f.start(t)
	f.certify(t)
	f.startProxy(t, command(t, f))
	return f
}

// startProxy starts the proxy and waits until the service answers through it.
func (f *proxied) startProxy(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Dir = f.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir, "TMPDIR=" + f.dir}
	f.proxy = spawn(t, cmd)
	visitor := f.client(1)
	f.proxy.await(t, "ready", func() bool {
		r, err := visitor.send("GET", "/api/public/health/ready", nil)
		return err == nil && r.status == http.StatusOK
	})
}

// certify writes a self-signed certificate and its key, each alone and both together.
func (f *proxied) certify(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{publicHost},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	writeFile(t, public, f.dir, "certificate.pem")
	writeFile(t, secret, f.dir, "key.pem")
	writeFile(t, append(append([]byte{}, public...), secret...), f.dir, "both.pem")
	f.certificates = x509.NewCertPool()
	f.certificates.AppendCertsFromPEM(public)
}

// client returns a client that connects to the proxy from clientAddress and speaks that version of
// HTTP, 1 or 2.
func (f *proxied) client(version int) *client {
	c := newClient(publicURL)
	transport := c.http.Transport.(*http.Transport)
	transport.TLSClientConfig = &tls.Config{RootCAs: f.certificates}
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(version == 1)
	transport.Protocols.SetHTTP2(version == 2)
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(clientAddress)}, Timeout: patience}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		switch address {
		case publicHost + ":80":
			return dialer.DialContext(ctx, network, f.plain)
		case publicHost + ":443":
			return dialer.DialContext(ctx, network, f.encrypted)
		}
		return nil, fmt.Errorf("the service sent the client to %s", address)
	}
	return c
}

// counted returns a counter of /proc/PID/io in bytes. rchar counts what the process read from files
// and sockets, write_bytes what it wrote to a disk.
func (p *process) counted(t testing.TB, name string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, name+": "); found {
			n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s in /proc/PID/io", name)
	return 0
}

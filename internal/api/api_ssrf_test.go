package api_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"larder/internal/apptest"
	"larder/internal/config"
	"larder/internal/site"
)

// allowedStoreAddress is an address that stores may have although it is not public. Nothing listens
// there.
const allowedStoreAddress = "127.0.0.77"

func allowStoreAddress(cfg *config.Config) {
	cfg.AllowPrivateEndpoints = []netip.Prefix{netip.MustParsePrefix(allowedStoreAddress + "/32")}
	cfg.FreeModeAllowPrivateEndpoints = cfg.AllowPrivateEndpoints
}

// privateEndpoints lists endpoints that are not public, and the addresses of this machine's
// interfaces. PORT stands for the canary's port.
func privateEndpoints(t *testing.T, l *apptest.Larder) (list []string) {
	t.Helper()
	for name, addresses := range map[string][]string{
		"localhost": {"127.0.0.1", "::1"}, "localhost.": {"127.0.0.1", "::1"}, "LOCALHOST": {"127.0.0.1"},
		"inside.example.org": {"127.0.0.1"}, "lan.example.org": {"192.168.7.7"},
		"half.example.org": {"8.8.8.8", "127.0.0.1"}, "other-half.example.org": {"::1", "2606:4700::1111"},
		"mapped.example.org": {"::ffff:127.0.0.1"}, "nat64.example.org": {"64:ff9b::7f00:1"},
		"nowhere.example.org": nil, "metadata.google.internal": {"169.254.169.254"}, "larder.test": {"8.8.8.8"},
		"none.example.org": {"0.0.0.0"},
	} {
		l.Resolver.Set(name, addresses...)
	}
	list = strings.Fields(`
		http://127.0.0.1:PORT https://127.0.0.1:PORT http://127.0.0.1 http://127.8.8.8:PORT http://127.255.255.255:PORT http://127.0.0.78:PORT
		http://127.1:PORT http://127.0.1:PORT http://2130706433:PORT http://0x7f.1:PORT http://0x7f000001:PORT http://0X7F.0.0.1:PORT http://0177.0.0.1:PORT http://017700000001:PORT
		http://127.0.0.1.:PORT http://127.0.0.01:PORT http://bucket.127.0.0.1:PORT http://256.1.1.1:PORT http://1.2.3.4.5:PORT
		http://0:PORT http://0.0.0.0:PORT http://0.0.0.1:PORT http://none.example.org:PORT
		http://localhost:PORT http://localhost.:PORT http://LOCALHOST:PORT https://localhost:PORT
		http://[::]:PORT http://[::1]:PORT http://[0:0:0:0:0:0:0:1]:PORT http://[::ffff:127.0.0.1]:PORT http://[::ffff:7f00:1]:PORT http://[::127.0.0.1]:PORT http://[::ffff:0:127.0.0.1]:PORT
		http://10.0.0.1:PORT http://10.255.255.255:PORT http://172.16.0.1:PORT http://172.31.255.255:PORT http://192.168.0.1:PORT http://169.254.169.254 http://[::ffff:169.254.169.254]
		http://[fd00:ec2::254] http://100.64.0.1:PORT http://100.127.255.255:PORT http://192.0.0.1:PORT http://192.0.2.1:PORT http://198.18.0.1:PORT http://198.19.255.255:PORT
		http://198.51.100.1:PORT http://203.0.113.1:PORT http://192.88.99.1:PORT http://224.0.0.1:PORT http://239.255.255.255:PORT http://240.0.0.1:PORT http://255.255.255.255:PORT
		http://[fe80::1]:PORT http://[fec0::1]:PORT http://[fc00::1]:PORT http://[fdff::1]:PORT http://[ff02::1]:PORT
		http://[64:ff9b::7f00:1]:PORT http://[64:ff9b:1::a00:1]:PORT http://[2002:7f00:1::]:PORT http://[2001::1]:PORT http://[2001:db8::1]:PORT http://[100::1]:PORT http://[3fff::1]:PORT
		http://inside.example.org:PORT http://lan.example.org:PORT http://half.example.org:PORT http://other-half.example.org:PORT http://mapped.example.org:PORT http://nat64.example.org:PORT
		http://nowhere.example.org:PORT http://metadata.google.internal
		http://larder.test http://LARDER.test.:80 http://8.8.8.8 http://[::ffff:8.8.8.8]
	`)
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			list = append(list, "http://"+net.JoinHostPort(strings.Replace(prefix.Addr().String(), "%", "%25", 1),
				"PORT"))
		}
	}
	return list
}

// invalidEndpoints lists texts that cannot be the address of a store.
var invalidEndpoints = []string{
	"file:///etc/passwd", "file://localhost/etc/passwd", "gopher://127.0.0.1:PORT/_x", "ftp://127.0.0.1:PORT",
	"dict://127.0.0.1:PORT", "unix:///run/x.sock", "ldap://127.0.0.1:PORT",
	"javascript:alert(1)", "data:text/plain,x", "127.0.0.1:PORT", "//127.0.0.1:PORT", "http:127.0.0.1:PORT",
	"http:///127.0.0.1:PORT", "http://", "http://:PORT",
	"http://user@127.0.0.1:PORT", "http://user:password@store.example.org:PORT",
	"http://store.example.org@127.0.0.1:PORT", "http://store.example.org:PORT#@127.0.0.1:PORT",
	"http://store.example.org:0", "http://store.example.org:65536", "http://store.example.org:",
	"http://store.example.org:PORT/admin", "http://store.example.org:PORT?x=y",
	`http://store.example.org:PORT\@127.0.0.1`, "http://１２７.0.0.1:PORT", "http://127。0。0。1:PORT",
	"http://ⓛocalhost:PORT", "http://127.0.0.1:PORT\r\nHost: x", "http://[127.0.0.1]:PORT",
	"http://[fe80::1%25eth0]:PORT", "http://[::1%25lo]:PORT", "http://[::ffff:127.0.0.1%25lo]:PORT",
}

// No address that a user or administrator can configure makes the service connect to an address
// that is not public (abuse cases C60, C61, C62, C64).
func TestNoRequestReachesPrivateAddress(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", allowStoreAddress)
	l.Resolver.Set("store.example.org", allowedStoreAddress)
	canary := apptest.NewCanary(t, ":0")
	admin := l.Admin(t)
	body := func(endpoint string, more M) M {
		return M{"name": "x", "type": "store_b", "endpoint": endpoint, "bucket": "bucket", "accessKeyId": "key",
			"secretAccessKey": "secret"}.With(more)
	}
	const good = "http://store.example.org:1"
	id := admin.Post(providersPath, body(good, nil)).OK(201).Text("provider.id")
	disk := addProvider(admin, "disk")
	sinks := map[string]func(endpoint string) *apptest.Reply{
		"POST store_b": func(endpoint string) *apptest.Reply { return admin.Post(providersPath, body(endpoint, nil)) },
		"POST store_c": func(endpoint string) *apptest.Reply {
			return admin.Post(providersPath, body(endpoint, M{"type": "store_c"}))
		},
		"PUT": func(endpoint string) *apptest.Reply { return admin.Put(providersPath+"/"+id, M{"endpoint": endpoint}) },
		"free mode": func(endpoint string) *apptest.Reply {
			return l.Client(t).Post("/api/free-mode/init", body(endpoint, M{"secretAccessKey": "secret"}))
		},
		"PUT of a disk": func(endpoint string) *apptest.Reply {
			return admin.Put(providersPath+"/"+disk, body(endpoint, nil))
		},
	}
	l.ChangeSettings(t, func(s *site.Settings) { s.EnableFreeMode = true })
	targets := privateEndpoints(t, l)
	if len(targets) < 60 {
		t.Fatalf("only %d targets", len(targets))
	}
	canary.WantNoConnections("before")
	before := tablesDigest(t, l)
	for sink, send := range sinks {
		told := ""
		for i, target := range append(append([]string{}, targets...), invalidEndpoints...) {
			endpoint := strings.ReplaceAll(target, "PORT", canary.Port)
			reply := send(endpoint)
			wantStatus(t, sink+" "+endpoint, reply, 400, "VALIDATION_ERROR")
			sentence := errorMessage(t, reply)
			if i == 0 || i == len(targets) {
				told = sentence
			}
			if sentence == "" || sentence != told {
				t.Errorf("%s %s gets the answer %q, others get %q", sink, endpoint, sentence, told)
			}
		}
		canary.WantNoConnections(sink)
	}
	if tablesDigest(t, l) != before {
		t.Error("a provider was made or changed")
	}
	admin.Put(providersPath+"/"+id, M{"endpoint": "http://store.example.org:2/"}).OK(200)
}

// The test of a provider connects to no private address, whatever its record resolves to by now,
// and reveals nothing about it (abuse cases C60, C65).
func TestProviderTestReachesNoPrivateAddress(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", allowStoreAddress)
	l.Resolver.Set("store.example.org", allowedStoreAddress)
	canary := apptest.NewCanary(t, ":0")
	admin := l.Admin(t)
	targets := privateEndpoints(t, l)
	ids := make([]string, len(targets))
	for i, target := range targets {
		ids[i] = admin.Post(providersPath, M{
			"name": "x", "type": "store_b", "endpoint": "http://store.example.org:1", "bucket": "bucket",
			"accessKeyId": "key", "secretAccessKey": "secret",
		}).OK(201).Text("provider.id")
		execAndRaiseVersion(t, l, "UPDATE providers SET endpoint = $1 WHERE id = $2",
			strings.ReplaceAll(target, "PORT", canary.Port), ids[i])
	}
	told := ""
	for i, reply := range runConcurrently(t, admin, len(ids),
		func(c *apptest.Client, i int) *apptest.Reply { return c.Post(providersPath+"/"+ids[i]+"/test", nil) }) {
		if told == "" {
			told = reply.OK(200).Text("message")
		}
		wantJSON(t, targets[i]+": connected", reply.OK(200).Value("connected"), false)
		wantJSON(t, targets[i]+": message", reply.Value("message"), told)
	}
	canary.WantNoConnections("the test of a provider")
}

// A provider whose host was public when it was saved fails without a connection once the host
// resolves to a private address (abuse case C62).
func TestHostResolvingToPrivateAddressLater(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		l.Resolver.Set("store.example.org", "127.0.0.1")
		admin := l.Admin(t)
		bucket := l.RootOnS3(t, M{"name": "first", "uploadMode": "worker"})
		_, port, _ := strings.Cut(strings.TrimPrefix(bucket.Endpoint, "http://"), ":")
		list := admin.Get(providersPath).OK(200)
		id := list.Text(fmt.Sprintf("providers.%d.id", slices.Index(list.Names("providers"), "first")))
		admin.Put(providersPath+"/"+id, M{"endpoint": "http://store.example.org:" + port}).OK(200)
		user := l.User(t, "anna")
		file := user.Upload("/home/anna", "a.txt", []byte("hello"))
		session := user.Post("/api/files/upload-session", M{"path": "/home/anna", "fileName": "b.txt", "fileSize": 5}).
			OK(200).Text("sessionId")
		user.Get("/home/anna/a.txt").OK(200)

		private := "127.0.0.2" // on each engine another, since both listen on the port of one server
		if strings.HasSuffix(t.Name(), "/postgres") {
			private = "127.0.0.3"
		}
		canary := apptest.NewCanary(t, private+":"+port)
		for name, addresses := range map[string][]string{
			"loopback": {private}, "mapped": {"::ffff:" + private},
			"loopback and a private one": {private, "10.0.0.1"}, "loopback in IPv6": {"::1"}, "nothing": nil,
		} {
			l.Resolver.Set("store.example.org", addresses...)
			// closes the connections that were made before
			saved := admin.Put(providersPath+"/"+id, M{"name": name}).OK(200)
			wantJSON(t, name+": status", saved.Value("provider.status"), "unavailable")
			uploaded := user.Do(apptest.Request{Method: "PUT", Path: "/api/files/upload/raw/" + session, Body: "hello"})
			for what, reply := range map[string]*apptest.Reply{
				"upload": uploaded, "download": user.Get("/home/anna/a.txt"),
				"download of a part": user.Get("/home/anna/a.txt", "Range", "bytes=1-2"),
			} {
				wantStatus(t, name+": "+what, reply, 500, "INTERNAL_ERROR")
				for _, secret := range []string{"127.0", "::1", "10.0", port, "store.example.org", "lookup", "dial",
					"refused", "may be reached"} {
					if strings.Contains(string(reply.Body), secret) {
						t.Errorf("%s: %s reveals %q: %s", name, what, secret, reply.Body)
					}
				}
			}
			canary.WantNoConnections(name)
		}

		l.Resolver.Set("store.example.org", "127.0.0.1")
		admin.Put(providersPath+"/"+id, M{"name": "healed"}).OK(200)
		if got := user.Get("/home/anna/a.txt"); got.Status != 200 || string(got.Body) != "hello" {
			t.Errorf("afterwards: %d %s", got.Status, got.Body)
		}
		user.Do(apptest.Request{Method: "PUT", Path: "/api/files/upload/raw/" + session, Body: "hello"}).OK(200)
		user.Delete("/api/files/" + file).OK(200)
	}, func(cfg *config.Config) {
		cfg.AllowPrivateEndpoints = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	}, apptest.WithoutObjectCache)
}

// A redirect by a store is a failure of the store and is not followed (abuse case C63).
func TestRedirectsOfStoresAreNotFollowed(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback)
	canary := apptest.NewCanary(t, "127.0.0.1:0")
	admin := l.Admin(t)
	for _, code := range []int{301, 302, 303, 307, 308} {
		store := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:"+canary.Port+"/", code))
		path := fmt.Sprintf("/at%d", code)
		made := admin.Post(providersPath, M{
			"name": path, "type": "store_b", "endpoint": store.URL, "bucket": "bucket", "accessKeyId": "key",
			"secretAccessKey": "secret", "uploadMode": "worker",
		}).OK(201)
		wantJSON(t, path+": status", made.Value("provider.status"), "unavailable")
		addMount(admin, made.Text("provider.id"), path)
		session := admin.Post("/api/files/upload-session", M{"path": path, "fileName": "a.txt", "fileSize": 5}).OK(200).
			Text("sessionId")
		reply := admin.Do(apptest.Request{Method: "PUT", Path: "/api/files/upload/raw/" + session, Body: "hello"})
		wantStatus(t, path+": upload", reply, 500, "INTERNAL_ERROR")
		if strings.Contains(string(reply.Body), "127.0") || strings.Contains(string(reply.Body), canary.Port) {
			t.Errorf("%s: the answer reveals the address: %s", path, reply.Body)
		}
		store.Close()
	}
	canary.WantNoConnections("a redirect")
}

// The service never requests addresses that it only passes on to browsers (abuse case C66).
func TestAddressesForBrowsersAreNotFetched(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		canary := apptest.NewCanary(t, "127.0.0.1:0") // the configuration permits this address
		address := "http://127.0.0.1:" + canary.Port
		admin := l.Admin(t)
		l.RootOnS3(t, M{"publicDomain": address + "/cdn", "uploadDomain": address})
		l.ChangeSettings(t, func(s *site.Settings) {
			s.SiteLogo, s.SiteFavicon = address+"/logo.png", address+"/favicon.ico"
		})
		user := l.User(t, "anna")
		file := user.Upload("/home/anna", "a.png", []byte("\x89PNG\r\n\x1a\nhello"))
		shown := admin.Upload("/public", "b.png", []byte("\x89PNG\r\n\x1a\nhello"))
		for _, id := range []string{file, shown} {
			admin.Put("/api/files/"+id, M{"coverUrl": address + "/cover.png"}).OK(200)
			for _, wrong := range []string{"javascript:alert(1)", "JavaScript:alert(1)", "data:image/png;base64,AAAA",
				"DATA:text/html,x", "vbscript:x", "blob:x", "file:///etc/passwd"} {
				wantStatus(t, "coverUrl "+wrong, admin.Put("/api/files/"+id, M{"coverUrl": wrong}), 400,
					"VALIDATION_ERROR")
			}
			wantJSON(t, "coverUrl", admin.Get("/api/files/"+id).OK(200).Value("file.coverUrl"), address+"/cover.png")
			admin.Get("/api/files/" + id + "/copy-links").OK(200)
			admin.Get("/api/files/" + id + "/copy-links?signed=true").OK(200)
			admin.Get("/api/files/" + id + "/download").OK(200)
		}
		user.Get("/api/files?path=/home/anna").OK(200)
		l.Client(t).Get("/api/public/files?path=/public").OK(200)
		l.Client(t).Get("/public/b.png").OK(200)
		admin.Get(providersPath).OK(200)
		for _, path := range []string{"/favicon.ico", "/api/public/settings", "/"} {
			l.Client(t).Get(path)
		}
		l.Sweep()
		canary.WantNoConnections("an address for browsers")
	}, apptest.ReachLoopback)
}

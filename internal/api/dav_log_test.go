package api_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// WebDAV writes the access log entries listed here by hand. Listings and OPTIONS write none, and no
// entry contains a secret.
func TestDAVAccessLog(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		_, key := davHome(t, l, "alice")
		before := len(accessLogs(t, l, admin, "&action=webdav"))
		requests := func() int64 {
			l.FlushLog()
			n, err := l.Apps[0].Audit.Requests24h(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		const at = "/home/alice/a%20b.txt"
		counted, asked := requests(), int64(0)
		var want []string
		token := ""
		for _, row := range []struct {
			method, path string
			body         any
			header       []string
			logged       string // without user and key
		}{
			{"OPTIONS", at, nil, nil, ""},
			{"PROPFIND", "/home/alice", nil, nil, ""},
			{"PUT", at, "0123456", nil, "/home/alice/a b.txt 7 201"},
			{"GET", at, nil, nil, "/home/alice/a b.txt 7 200"},
			{"GET", at, nil, []string{"Range", "bytes=0-1"}, "/home/alice/a b.txt 2 206"},
			{"HEAD", at, nil, nil, ""},
			{"MKCOL", "/home/alice/dir", nil, nil, "/home/alice/dir 0 201"},
			{"MKCOL", "/home/alice/dir", nil, nil, "/home/alice/dir 0 405"},
			{"COPY", at, nil, []string{"Destination", "/webdav/home/alice/dir/copy"}, "/home/alice/a b.txt 0 201"},
			{"MOVE", "/home/alice/dir/copy", nil, []string{"Destination", "/webdav/home/alice/moved"},
				"/home/alice/dir/copy 0 201"},
			{"PROPPATCH", at, patchBody, nil, "/home/alice/a b.txt 0 207"},
			{"LOCK", at, lockBody, nil, "/home/alice/a b.txt 0 200"},
			{"PUT", at, "x", nil, "/home/alice/a b.txt - 423"},
			{"UNLOCK", at, nil, nil, "/home/alice/a b.txt 0 204"},
			{"DELETE", "/home/alice/moved", nil, nil, "/home/alice/moved 0 204"},
			{"DELETE", "/home/alice/moved", nil, nil, "/home/alice/moved 0 404"},
			{"GET", "/home/bob/x", nil, nil, "/home/bob/x 0 403"},
			{"PUT", "/home/bob/x", "stolen", nil, "/home/bob/x - 403"},
		} {
			header := row.header
			if row.method == "UNLOCK" {
				header = []string{"Lock-Token", token}
			}
			r := dav(key, row.method, row.path, row.body, header...)
			asked++
			if row.method == "LOCK" {
				token = r.Header.Get("Lock-Token")
			}
			if row.logged != "" {
				want = append(want, row.logged)
			}
		}
		dav(l.Client(t), "PUT", at, "x", "Authorization",
			"Basic "+base64.StdEncoding.EncodeToString([]byte("pk_canary:sk_canary")))
		asked++
		if n := requests(); n != counted+asked {
			t.Errorf("%d requests were counted, want %d", n-counted, asked)
		}
		var have []string
		secrets := 0
		for _, e := range accessLogs(t, l, admin, "&action=webdav")[before:] {
			if e.Username == nil || *e.Username != "alice" || e.KeyID == nil || e.Action != "webdav" || e.IP == nil ||
				e.Count != 1 {
				t.Errorf("the user of the entry: %v", e)
			}
			bytes := fmt.Sprint(e.BytesTransferred)
			if e.StatusCode == 423 || e.StatusCode == 403 && e.Path == "/home/bob/x" &&
				slices.Contains(have, "/home/bob/x 0 403") {
				bytes = "-"
			}
			have = append(have, fmt.Sprintf("%s %s %d", e.Path, bytes, e.StatusCode))
		}
		slices.Sort(have) // entries of two replicas at one moment have no order
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Errorf("logged:\n%s\nwant:\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
		}
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key.Header.Get("Authorization"), "Basic "))
		if err != nil {
			t.Fatal(err)
		}
		_, secret, _ := strings.Cut(string(raw), ":")
		everything := dumpLog(t, l) + l.Log.String()
		for _, text := range []string{secret, strings.TrimPrefix(key.Header.Get("Authorization"), "Basic "),
			"sk_canary", strings.Trim(token, "<>")} {
			if strings.Contains(everything, text) {
				secrets++
			}
		}
		if secrets != 0 {
			t.Errorf("%d secrets are in a log", secrets)
		}
	})
}

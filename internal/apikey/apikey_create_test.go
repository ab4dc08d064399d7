package apikey_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/apikey"
	"larder/internal/db"
	"larder/internal/db/dbtest"
	"larder/internal/fault"
)

func TestCreatedKeyHasTheGivenValues(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		before := w.version()
		k, token := w.create("ann", apikey.NewKey{
			Name: " PicGo ", Permissions: []string{"delete", "read", "delete"},
			Protocols:  []string{"api", "webdav", "api"},
			UploadPath: "//pics///{year}/./{month}/",
			AllowedIPs: []string{"192.0.2.7", "198.51.100.9/24", "::ffff:192.0.2.7", "2001:DB8::1/32"},
			ExpiresIn:  ptr(int64(60)), PublicLinks: "all", RootOnly: true,
		})
		want := apikey.Key{
			ID: k.ID, UserID: "ann", Name: "PicGo", Permissions: []string{"read", "delete"},
			Protocols:  []string{"webdav", "api"},
			UploadPath: "/pics/{year}/{month}",
			AllowedIPs: []netip.Prefix{
				netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("198.51.100.0/24"),
				netip.MustParsePrefix("2001:db8::/32"),
			},
			PublicLinks: "all", RootOnly: true, ExpiresAt: ptr(start.UnixMilli() + 60_000),
			CreatedAt: start.UnixMilli(),
		}
		if !reflect.DeepEqual(k, want) {
			t.Errorf("created %+v, want %+v", k, want)
		}
		if got := w.list("ann"); len(got) != 1 || !reflect.DeepEqual(got[k.ID], want) {
			t.Errorf("listed %+v, want %+v", got, want)
		}
		if !regexp.MustCompile(`^pk_[0-9A-Za-z]{24}\.sk_[0-9A-Za-z]{48}$`).MatchString(token) {
			t.Error("the token has another form")
		}
		if w.version() == before {
			t.Error("the config version did not rise")
		}
		if got := w.list("bob"); len(got) != 0 {
			t.Errorf("another user has %+v", got)
		}

		plain, _ := w.create("ann", newKey())
		if plain.UploadPath != "/uploads" || plain.AllowedIPs != nil || plain.ExpiresAt != nil || plain.RootOnly {
			t.Errorf("defaults: %+v", plain)
		}
	})
}

func TestTokenIsStoredAsItsHash(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		k, token := w.create("ann", newKey())
		sum := sha256.Sum256([]byte(token))
		if got := w.tokenHash(k.ID); got != hex.EncodeToString(sum[:]) {
			t.Errorf("stored %s", got)
		}
		if _, half, _ := strings.Cut(token, "."); w.rowContains(k.ID, half) || !w.rowContains(k.ID, k.ID) {
			t.Error("the secret is in the database")
		}
	})
}

func TestNewKeyIsChecked(t *testing.T) {
	t.Parallel()
	const none = fault.Internal
	cases := map[string]struct {
		change func(n *apikey.NewKey)
		want   fault.Kind
	}{
		"no name":               {func(n *apikey.NewKey) { n.Name = "" }, fault.Invalid},
		"a blank name":          {func(n *apikey.NewKey) { n.Name = " \t" }, fault.Invalid},
		"name of 1":             {func(n *apikey.NewKey) { n.Name = "x" }, none},
		"name of 100":           {func(n *apikey.NewKey) { n.Name = strings.Repeat("ü", 100) }, none},
		"name of 101":           {func(n *apikey.NewKey) { n.Name = strings.Repeat("ü", 101) }, fault.Invalid},
		"name with NUL":         {func(n *apikey.NewKey) { n.Name = "a\x00b" }, fault.Invalid},
		"name with a line end":  {func(n *apikey.NewKey) { n.Name = "a\nb" }, fault.Invalid},
		"name not UTF-8":        {func(n *apikey.NewKey) { n.Name = "a\xffb" }, fault.Invalid},
		"no permission":         {func(n *apikey.NewKey) { n.Permissions = nil }, fault.Invalid},
		"unknown permission":    {func(n *apikey.NewKey) { n.Permissions = []string{"read", "share"} }, fault.Invalid},
		"permission in capital": {func(n *apikey.NewKey) { n.Permissions = []string{"Read"} }, fault.Invalid},
		"empty permission":      {func(n *apikey.NewKey) { n.Permissions = []string{""} }, fault.Invalid},
		"no protocol":           {func(n *apikey.NewKey) { n.Protocols = []string{} }, fault.Invalid},
		"unknown protocol":      {func(n *apikey.NewKey) { n.Protocols = []string{"api", "ftp"} }, fault.Invalid},
		"59 seconds":            {func(n *apikey.NewKey) { n.ExpiresIn = ptr(int64(59)) }, fault.Invalid},
		"60 seconds":            {func(n *apikey.NewKey) { n.ExpiresIn = ptr(int64(60)) }, none},
		"no seconds":            {func(n *apikey.NewKey) { n.ExpiresIn = ptr(int64(0)) }, fault.Invalid},
		"negative seconds":      {func(n *apikey.NewKey) { n.ExpiresIn = ptr(int64(-60)) }, fault.Invalid},
		"seconds that overflow": {func(n *apikey.NewKey) { n.ExpiresIn = ptr(int64(1<<63 - 1)) }, fault.Invalid},
		"unknown links":         {func(n *apikey.NewKey) { n.PublicLinks = "some" }, fault.Invalid},
		// Abuse case C59.
		"any address": {func(n *apikey.NewKey) { n.AllowedIPs = []string{} }, none},
		"garbage": {func(n *apikey.NewKey) { n.AllowedIPs = []string{"192.0.2.7", "localhost"} },
			fault.Invalid},
		"empty address":     {func(n *apikey.NewKey) { n.AllowedIPs = []string{""} }, fault.Invalid},
		"everything":        {func(n *apikey.NewKey) { n.AllowedIPs = []string{"0.0.0.0/0", "::/0"} }, none},
		"prefix too long":   {func(n *apikey.NewKey) { n.AllowedIPs = []string{"192.0.2.0/33"} }, fault.Invalid},
		"octal":             {func(n *apikey.NewKey) { n.AllowedIPs = []string{"192.0.02.7"} }, fault.Invalid},
		"address with port": {func(n *apikey.NewKey) { n.AllowedIPs = []string{"192.0.2.7:80"} }, fault.Invalid},
		"address with zone": {func(n *apikey.NewKey) { n.AllowedIPs = []string{"fe80::1%eth0"} }, fault.Invalid},
		"a list in one string": {func(n *apikey.NewKey) { n.AllowedIPs = []string{"192.0.2.7,192.0.2.8"} },
			fault.Invalid},
		"more than IPv4": {func(n *apikey.NewKey) { n.AllowedIPs = []string{"::ffff:0.0.0.0/95"} },
			fault.Invalid},
		"100 addresses": {func(n *apikey.NewKey) { n.AllowedIPs = slices.Repeat([]string{"192.0.2.7"}, 100) },
			none},
		"101 addresses": {func(n *apikey.NewKey) { n.AllowedIPs = slices.Repeat([]string{"192.0.2.7"}, 101) },
			fault.Invalid},
		"reserved":            {func(n *apikey.NewKey) { n.UploadPath = "/api" }, fault.Forbidden},
		"reserved, below":     {func(n *apikey.NewKey) { n.UploadPath = "//WebDAV/x/{year}" }, fault.Forbidden},
		"reserved, a file":    {func(n *apikey.NewKey) { n.UploadPath = "Favicon.ICO" }, fault.Forbidden},
		"reserved further in": {func(n *apikey.NewKey) { n.UploadPath = "/uploads/api" }, none},
		"a placeholder alone": {func(n *apikey.NewKey) { n.UploadPath = "/{username}" }, none},
		// Abuse case C17.
		"home":                  {func(n *apikey.NewKey) { n.UploadPath = "~" }, fault.Forbidden},
		"home of somebody":      {func(n *apikey.NewKey) { n.UploadPath = "/home/~bob" }, fault.Forbidden},
		"up":                    {func(n *apikey.NewKey) { n.UploadPath = "/uploads/../etc" }, fault.Forbidden},
		"up, relative":          {func(n *apikey.NewKey) { n.UploadPath = "../etc" }, fault.Forbidden},
		"two dots in a name":    {func(n *apikey.NewKey) { n.UploadPath = "/a..b" }, fault.Forbidden},
		"backslash":             {func(n *apikey.NewKey) { n.UploadPath = `/a\b` }, fault.Forbidden},
		"NUL in the path":       {func(n *apikey.NewKey) { n.UploadPath = "/a\x00" }, fault.Forbidden},
		"unknown placeholder":   {func(n *apikey.NewKey) { n.UploadPath = "/uploads/{user}" }, fault.Forbidden},
		"placeholder, capital":  {func(n *apikey.NewKey) { n.UploadPath = "/uploads/{Year}" }, fault.Forbidden},
		"empty placeholder":     {func(n *apikey.NewKey) { n.UploadPath = "/uploads/{}" }, fault.Forbidden},
		"path too deep":         {func(n *apikey.NewKey) { n.UploadPath = strings.Repeat("/a", 65) }, fault.Forbidden},
		"path just deep enough": {func(n *apikey.NewKey) { n.UploadPath = strings.Repeat("/a", 64) }, none},
		"the root":              {func(n *apikey.NewKey) { n.UploadPath = "/" }, none},
		"no leading slash":      {func(n *apikey.NewKey) { n.UploadPath = "pics" }, none},
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		for name, c := range cases {
			k, half, err := w.Create(context.Background(), "ann", newKey(c.change))
			if c.want == none {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				} else if err := w.Revoke(context.Background(), "ann", k.ID); err != nil {
					t.Error(err)
				}
				continue
			}
			wantKind(t, name, err, c.want)
			if half != "" {
				t.Errorf("%s: a secret came back", name)
			}
		}
		_, _, err := w.Create(context.Background(), "nobody", newKey())
		wantKind(t, "no such user", err, fault.NotFound)
	})
}

func TestPublicLinksDefaultToImagesForTheAPI(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		for _, c := range []struct {
			protocols   []string
			links, want string
		}{
			{[]string{"api"}, "", "images"},
			{[]string{"webdav", "api"}, "", "images"},
			{[]string{"webdav"}, "", "none"},
			{[]string{"api"}, "none", "none"},
			{[]string{"webdav"}, "all", "all"},
		} {
			k, _ := w.create("ann", newKey(func(n *apikey.NewKey) {
				n.Protocols, n.PublicLinks = c.protocols, c.links
			}))
			if k.PublicLinks != c.want {
				t.Errorf("%v, %q: got %s, want %s", c.protocols, c.links, k.PublicLinks, c.want)
			}
		}
	})
}

// Abuse case C89.
func TestParallelCreatesStopAtTwenty(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		services := []*apikey.Service{w.Service, w.replica()}
		var made atomic.Int64
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				_, _, err := services[i%2].Create(context.Background(), "ann", newKey())
				if err == nil {
					made.Add(1)
				} else if !fault.Is(err, fault.Forbidden) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := len(w.list("ann")); made.Load() != 20 || got != 20 {
			t.Errorf("%d were made, %d exist", made.Load(), got)
		}
		w.create("bob", newKey()) // keys of other users do not count
	})
}

func TestRevokedAndExpiredKeysDoNotCount(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newFixture(t, d), context.Background()
		full := func(what string) {
			t.Helper()
			_, _, err := w.Create(ctx, "ann", newKey())
			wantKind(t, what, err, fault.Forbidden)
		}
		var first apikey.Key
		for i := range 20 {
			k, _ := w.create("ann", newKey(func(n *apikey.NewKey) {
				if i < 2 {
					n.ExpiresIn = ptr(int64(60))
				}
			}))
			if i == 0 {
				first = k
			}
		}
		w.advance(time.Minute - time.Millisecond)
		full("a millisecond before two expire")
		w.advance(time.Millisecond)
		third, _ := w.create("ann", newKey())
		w.create("ann", newKey())
		full("after two more")

		// An expired key can be made active again only below the limit.
		_, err := w.Change(ctx, "ann", first.ID, apikey.Change{ExpiresIn: ptr(ptr(int64(60)))})
		wantKind(t, "renew an expired one", err, fault.Forbidden)
		if _, err := w.Change(ctx, "ann", first.ID, apikey.Change{Name: ptr("old")}); err != nil {
			t.Errorf("rename an expired one: %v", err)
		}
		if err := w.Revoke(ctx, "ann", third.ID); err != nil {
			t.Fatal(err)
		}
		if k, err := w.Change(ctx, "ann", first.ID, apikey.Change{ExpiresIn: ptr((*int64)(nil))}); err != nil ||
			k.ExpiresAt != nil {
			t.Errorf("renew with room: %+v, %v", k, err)
		}
		full("after the renewal")
	})
}

func TestInactiveKeysAreDeletedOldestFirst(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w, ctx := newFixture(t, d), context.Background()
		alive, _ := w.create("ann", newKey())
		bobs, _ := w.create("bob", newKey())
		if err := w.Revoke(ctx, "bob", bobs.ID); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for range 203 {
			w.advance(time.Second)
			k, _ := w.create("ann", newKey())
			if err := w.Revoke(ctx, "ann", k.ID); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, k.ID)
		}
		w.advance(time.Second)
		last, _ := w.create("ann", newKey())
		got := w.list("ann")
		for i, id := range ids {
			if _, kept := got[id]; kept != (i >= 3) {
				t.Errorf("the revoked key %d is kept: %v", i, kept)
			}
		}
		if _, ok := got[alive.ID]; !ok || len(got) != 202 || len(w.list("bob")) != 1 {
			t.Errorf("%d keys, the oldest active one is there: %v", len(got), ok)
		}
		if _, ok := got[last.ID]; !ok {
			t.Error("the newest is missing")
		}
	})
}

// Abuse case C32.
func TestScopeMapsPermissions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		permissions []string
		path        string
		want        access.Set
		root        string
	}{
		{[]string{"read"}, "/uploads", access.Set(access.Read | access.Download), "/uploads"},
		{[]string{"write"}, "/uploads/{year}", access.Set(access.Write | access.Update), "/uploads"},
		{[]string{"delete"}, "/{username}", access.Set(access.Delete), "/"},
		{[]string{"read", "write", "delete"}, "/a/b", access.All &^ access.Set(access.Share), "/a/b"},
		{[]string{"read", "write", "delete"}, "/a/../b", 0, "/"},
	} {
		k := apikey.Key{ID: "pk_x", Permissions: c.permissions, UploadPath: c.path, RootOnly: true}
		got := k.Scope()
		if got.ID != "pk_x" || got.Permissions != c.want || got.Root.String() != c.root || !got.RootOnly {
			t.Errorf("%v at %s: got %+v, want %b at %s", c.permissions, c.path, got, c.want, c.root)
		}
	}
}

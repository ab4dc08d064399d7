package api_test

import (
	"bytes"
	"fmt"
	"image"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"larder/internal/apptest"
	"larder/internal/config"
	"larder/internal/db"
	"larder/internal/thumb/thumbtest"
)

const (
	myAvatar    = "/api/users/me/avatar"
	maxMyAvatar = 5 << 20 // bytes; docs/decisions.md, Pictures of accounts
)

// avatarOf returns the address of a client's picture, "" for none.
func avatarOf(c *apptest.Client) string {
	address, _ := c.Get("/api/users/me/settings").OK(200).Value("profile.avatar").(string)
	return address
}

// paddedPhoto returns photo with bytes behind its end, which decoders ignore, up to a length.
func paddedPhoto(length int) []byte {
	return append(bytes.Clone(photo), make([]byte, length-len(photo))...)
}

// docs/decisions.md, Pictures of accounts: an uploaded picture is made small, is seen from every
// replica, and has another address than the one before.
func TestAvatar(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, visitor := l.User(t, "alice"), l.Client(t)
		if got := avatarOf(alice); got != "" {
			t.Errorf("a new account has the picture %q", got)
		}
		usedBytes, usedFiles := usedQuota(alice)
		first := alice.Put(myAvatar, photo).OK(200).Text("avatar")
		for range 2 * len(l.Apps) { // each replica
			if got := avatarOf(alice); got != first {
				t.Errorf("the address is %q, want %q", got, first)
			}
			r := visitor.Get(first)
			if got := thumbnailSize(t, r); got != image.Pt(192, 256) { // 600 × 800, turned
				t.Errorf("%v", got)
			}
			if bytes.Contains(r.Body, []byte(thumbtest.CameraCoordinates)) {
				t.Error("the picture contains the coordinates where it was taken")
			}
		}
		wantUsed(t, alice, usedBytes, usedFiles)

		r := visitor.Get(first)
		for name, want := range map[string]string{
			"Content-Type": "image/jpeg", "Cache-Control": "public, max-age=31536000, immutable",
			"X-Content-Type-Options":      "nosniff",
			"Content-Disposition":         `inline; filename="avatar"`,
			"Content-Security-Policy":     "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'",
			"Content-Length":              fmt.Sprint(len(r.Body)),
			"Access-Control-Allow-Origin": "",
		} {
			wantHeader(t, r, name, want)
		}
		visitor.Get(first, "If-None-Match", r.Header.Get("ETag")).OK(304)
		visitor.Get(first, "Service-Worker", "script").Fails(403, "FORBIDDEN")

		small := alice.Put(myAvatar, thumbtest.PNG(thumbtest.HalfTransparent(30, 20))).OK(200).Text("avatar")
		if small == first {
			t.Error("the address did not change with the picture")
		}
		for range len(l.Apps) {
			visitor.Get(first).Fails(404, "NOT_FOUND")
			r := visitor.Get(small)
			if got := thumbnailSize(t, r); got != image.Pt(30, 20) {
				t.Errorf("a small picture has the size %v", got)
			}
			wantHeader(t, r, "Content-Type", "image/png")
		}
		alice.Delete(myAvatar).OK(200)
		alice.Delete(myAvatar).OK(200)
		for range len(l.Apps) {
			visitor.Get(small).Fails(404, "NOT_FOUND")
			if got := avatarOf(alice); got != "" {
				t.Errorf("the removed picture has the address %q", got)
			}
		}
		for _, id := range []string{"none", "%00", strings.Repeat("a", 24), strings.Repeat("a", 25), "%ff"} {
			visitor.Get("/api/public/avatars/"+id).Fails(404, "NOT_FOUND")
		}
	})
}

// A refused picture leaves the one before. The limit is 5 MiB, whether the length is announced or
// not.
func TestAvatarRefusals(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice := l.User(t, "alice")
	kept := alice.Put(myAvatar, paddedPhoto(maxMyAvatar)).OK(200).Text("avatar")
	noise := make([]byte, 1000)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for what, body := range map[string][]byte{
		"nothing": {}, "a text": []byte("no picture"), "noise": noise, "half a picture": photo[:len(photo)/2],
		"a drawing":                []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`),
		"a page":                   []byte("<!doctype html><script>alert(1)</script>"),
		"a picture of many pixels": thumbtest.HugePNG(10_000, 10_000),
	} {
		wantStatus(t, what, alice.In(t).Put(myAvatar, body), 400, "VALIDATION_ERROR")
	}
	alice.Put(myAvatar, paddedPhoto(maxMyAvatar+1)).Fails(413, "PAYLOAD_TOO_LARGE")
	alice.Do(apptest.Request{Method: "PUT", Path: myAvatar,
		Body: struct{ io.Reader }{bytes.NewReader(paddedPhoto(maxMyAvatar + 1))}}).Fails(413, "PAYLOAD_TOO_LARGE")
	if got := avatarOf(alice); got != kept {
		t.Errorf("the address is %q, want %q", got, kept)
	}
	thumbnailSize(t, l.Client(t).Get(kept))

	forged := alice.Fork()
	forged.CSRF = "wrong"
	forged.Put(myAvatar, photo).Fails(403, "INVALID_CSRF")
	forged.Delete(myAvatar).Fails(403, "INVALID_CSRF")
	l.Client(t).Put(myAvatar, photo).Fails(401, "UNAUTHORIZED")
}

// The picture is deleted with its account.
func TestAvatarIsDeletedWithAccount(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		address := alice.Put(myAvatar, photo).OK(200).Text("avatar")
		bob := l.User(t, "bob")
		other := bob.Put(myAvatar, photo).OK(200).Text("avatar")
		admin.Delete("/api/admin/users/" + callerID(alice)).OK(200)
		for range len(l.Apps) {
			l.Client(t).Get(address).Fails(404, "NOT_FOUND")
			thumbnailSize(t, l.Client(t).Get(other))
		}
		if got := queryInt(t, l, "SELECT COUNT(*) FROM avatars"); got != 1 {
			t.Errorf("%d pictures are stored, want 1", got)
		}
	})
}

// Without thumbnails, no picture is decoded.
func TestAvatarsWithoutThumbnails(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", func(cfg *config.Config) { cfg.Thumbnails = config.ThumbnailsOff })
	l.User(t, "alice").Put(myAvatar, photo).Fails(409, "OPERATION_FAILED")
}

// An account uploads two pictures at a time; the third is refused before its body is read.
func TestAvatarUploadsAtATime(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice := l.User(t, "alice")
	replies := make(chan *apptest.Reply, 3)
	var bodies []*io.PipeWriter
	for range cap(replies) {
		body, send := io.Pipe()
		bodies = append(bodies, send)
		c := alice.Fork()
		// without this header the server would read the body before it sends a refusal
		expect := http.Header{"Expect": {"100-continue"}}
		go func() {
			replies <- c.Do(apptest.Request{Method: "PUT", Path: myAvatar, Body: body, Header: expect})
		}()
	}
	waitUntil(t, "one of three is refused", func() bool { return len(replies) == 1 })
	r := <-replies
	r.Fails(429, "RATE_LIMIT_EXCEEDED")
	wantHeader(t, r, "Retry-After", "5")
	for _, body := range bodies {
		_, _ = body.Write(photo) // the server does not read the body that it refuses
		body.Close()
	}
	for range 2 {
		(<-replies).OK(200)
	}
}

// The lists of the administration show the uploaded pictures of accounts.
func TestAvatarsInLists(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		for name, c := range map[string]*apptest.Client{"alice": alice, "bob": bob} {
			shareEntry(c, c.Upload("/home/"+name, "of "+name+".txt", []byte("x")))
		}
		var address any = alice.Put(myAvatar, photo).OK(200).Text("avatar")
		updated := func(c *apptest.Client) any {
			return updateUser(admin, callerID(c), M{"maxFiles": 7}).OK(200).Value("user.avatar")
		}
		wantJSON(t, "alice's after a change", updated(alice), address)
		wantJSON(t, "bob's after a change", updated(bob), nil)
		accessLogs(t, l, admin, "") // waits until they are written
		for at, list := range map[string]struct{ items, name, avatar string }{
			"/api/admin/users":             {"users", "username", "avatar"},
			"/api/admin/shares":            {"items", "creatorName", "creatorAvatar"},
			"/api/admin/files?search=of":   {"items", "username", "ownerAvatar"},
			"/api/admin/logs?action=share": {"logs", "username", "avatar"},
			"/api/admin/dashboard":         {"recentActivity", "username", "avatar"},
			"/api/admin/stats":             {"recentActivity", "username", "avatar"},
		} {
			seen := map[any]bool{}
			for _, value := range admin.Get(at).OK(200).Value(list.items).([]any) {
				item := value.(map[string]any)
				name, avatar := item[list.name], item[list.avatar]
				seen[name] = true
				if want := map[any]any{"alice": address}[name]; avatar != want {
					t.Errorf("%s: the picture of %v is %v, want %v", at, name, avatar, want)
				}
			}
			if !seen["alice"] || !seen["bob"] {
				t.Errorf("%s names %v", at, seen)
			}
		}
		// an older replica deletes an account without its picture
		id := callerID(alice)
		if err := l.Apps[0].DB.Write(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec("DELETE FROM users WHERE id = $1", id)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for _, value := range admin.Get("/api/admin/logs?action=share").OK(200).Value("logs").([]any) {
			if item := value.(map[string]any); item["userId"] == id && item["avatar"] != nil {
				t.Errorf("a picture of a deleted account: %v", item)
			}
		}
	})
}

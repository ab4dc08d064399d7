package api_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
)

// Abuse case C31: an upload in one request whose key is revoked meanwhile makes no file. Neither
// does one whose key loses the permission to write.
func TestUploadEndsWhenKeyIsRevoked(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		const home = "/home/alice"
		underWay := func() (n int) {
			return queryInt(t, l, "SELECT COUNT(*) FROM upload_sessions WHERE one_shot")
		}
		upload := func(name string, meanwhile func(keyID string)) *apptest.Reply {
			made := alice.Post("/api/keys/", M{"name": name, "permissions": []string{"write"},
				"protocols": []string{"api"}, "uploadPath": home}).OK(201)
			key := l.Client(t)
			key.Header.Set("Authorization", "Bearer "+made.Text("key.fullToken"))
			reader, writer := io.Pipe()
			done := make(chan *apptest.Reply, 1)
			go func() {
				done <- key.Do(apptest.Request{Method: "POST", Path: "/api/upload", Body: reader,
					Header: map[string][]string{"X-File-Name": {name}}})
			}()
			_, _ = io.WriteString(writer, strings.Repeat("x", 300_000))
			for underWay() == 0 {
				select {
				case r := <-done:
					return r
				case <-time.After(5 * time.Millisecond):
				}
			}
			meanwhile(made.Text("key.id"))
			_, _ = io.WriteString(writer, "the end")
			writer.Close()
			return <-done
		}
		upload("revoked", func(id string) { alice.Delete("/api/keys/" + id).OK(200) }).Fails(401, "INVALID_TOKEN")
		upload("read-only", func(id string) {
			alice.Patch("/api/keys/"+id, M{"permissions": []string{"read"}}).OK(200)
		}).Fails(403, "FORBIDDEN")
		// a database that fails at the end is no body that broke off: the client may try again
		upload("unread", func(string) { execDDL(t, l, "ALTER TABLE versions RENAME TO away") }).Fails(500, "INTERNAL_ERROR")
		execDDL(t, l, "ALTER TABLE away RENAME TO versions")
		wantStrings(t, "no entry was created", listNames(alice, home))
		wantUsed(t, alice, 0, 0)
		upload("kept", func(string) { mkdir(alice, home, "something else"); alice.Key(M{"name": "another"}) }).OK(200)
		wantStrings(t, "home", listNames(alice, home), "something else", "kept")
	})
}

package api_test

import (
	"fmt"
	"testing"

	"larder/internal/apptest"
)

func TestMyStorage(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		const path = "/api/users/me/storage"
		mkdir(alice, "/home/alice", "trip")
		mkdir(alice, "/home/alice", "music")
		alice.Upload("/home/alice", "a.txt", []byte("1"))
		alice.Upload("/home/alice/trip", "b.txt", []byte("22"))
		alice.Upload("/home/alice/music", "c.txt", []byte("333"))
		reply := alice.Get(path + "?path=/home/alice").OK(200)
		wantJSON(t, "files here", reply.Value("files"), 1)
		wantJSON(t, "bytes here", reply.Value("size"), 1)
		wantJSON(t, "folders", reply.Value("folders"), []any{
			M{"name": "music", "path": "/home/alice/music", "files": 1, "size": 3},
			M{"name": "trip", "path": "/home/alice/trip", "files": 1, "size": 2},
		})
		wantJSON(t, "all", alice.Get(path).OK(200).Value("folders"),
			[]any{M{"name": "home", "path": "/home", "files": 3, "size": 6}})
		if got := bob.Get(path).OK(200).Value("folders"); fmt.Sprint(got) != "[]" {
			t.Errorf("bob's folders: %v", got)
		}
		bob.Get(path+"?path=/home/alice").Fails(403, "FORBIDDEN")
		alice.Get(path+"?path=/home/alice/absent").Fails(404, "NOT_FOUND")
		alice.Get(path+"?path=home").Fails(400, "VALIDATION_ERROR")
		l.Client(t).Get(path).Fails(401, "UNAUTHORIZED")
	})
}

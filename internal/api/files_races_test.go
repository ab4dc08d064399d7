package api_test

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"

	"larder/internal/apptest"
)

// runConcurrently sends n concurrent requests, each with its own client, and returns the answers.
func runConcurrently(t *testing.T, c *apptest.Client, n int,
	ask func(c *apptest.Client, i int) *apptest.Reply) []*apptest.Reply {
	t.Helper()
	var wait sync.WaitGroup
	replies := make([]*apptest.Reply, n)
	for i := range replies {
		f := c.In(t)
		wait.Go(func() { replies[i] = ask(f, i) })
	}
	wait.Wait()
	return replies
}

// countStatuses counts the answers by status. It fails the test for broken connections.
func countStatuses(t *testing.T, replies []*apptest.Reply) map[int]int {
	t.Helper()
	count := map[int]int{}
	for _, r := range replies {
		if r.Err != nil || r.Status >= 500 {
			t.Errorf("%d %v: %s", r.Status, r.Err, r.Body)
		}
		count[r.Status]++
	}
	return count
}

func TestConcurrentCreationOfOneName(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		const home = "/home/alice"
		key := alice.Key(M{"uploadPath": home})
		t.Run("one folder", func(t *testing.T) { // abuse case C90
			count := countStatuses(t, runConcurrently(t, alice, 20, func(c *apptest.Client, _ int) *apptest.Reply {
				return c.Post("/api/files/folder", M{"path": home, "name": "one"})
			}))
			if count[201] != 1 || count[409] != 19 {
				t.Errorf("answers %v", count)
			}
		})
		t.Run("a folder or files", func(t *testing.T) {
			replies := runConcurrently(t, key, 20, func(c *apptest.Client, i int) *apptest.Reply {
				if i%2 == 0 {
					return c.Post("/api/files/folder", M{"path": home, "name": "both"})
				}
				return c.Post("/api/upload", "x", "X-File-Name", "both")
			})
			count := countStatuses(t, replies)
			if count[201] > 1 || count[200] != 10 {
				t.Errorf("answers %v", count)
			}
			seen := listNames(alice.In(t), home, "search", "both")
			if slices.Sort(seen); len(slices.Compact(slices.Clone(seen))) != len(seen) || len(seen) != 10+count[201] {
				t.Errorf("names %q", seen)
			}
		})
		t.Run("missing parents", func(t *testing.T) {
			count := countStatuses(t, runConcurrently(t, key, 12, func(c *apptest.Client, i int) *apptest.Reply {
				return c.Post("/api/upload", "x", "X-File-Name", fmt.Sprintf("f%d", i), "X-Path", "deep/er/still")
			}))
			if count[200] != 12 || len(listNames(alice.In(t), home+"/deep/er/still")) != 12 ||
				len(listNames(alice.In(t), home+"/deep")) != 1 {
				t.Errorf("answers %v", count)
			}
		})
		t.Run("replacing", func(t *testing.T) { // abuse case C97
			alice.In(t).Upload(home, "r.txt", []byte("first"))
			before, files := usedQuota(alice.In(t))
			var ready [10][2]string
			for i := range ready {
				body := bytes.Repeat([]byte{byte('a' + i)}, 10*(i+1))
				id := newUploadSession(alice.In(t), home, "r.txt", len(body), M{"conflict": "replace"})
				ready[i] = [2]string{id, putRaw(alice.In(t), id, body).OK(200).Text("etag")}
			}
			count := countStatuses(t, runConcurrently(t, alice, len(ready),
				func(c *apptest.Client, i int) *apptest.Reply { return completeUpload(c, ready[i][0], ready[i][1]) }))
			if count[200] != len(ready) {
				t.Errorf("answers %v", count)
			}
			body := alice.In(t).Get("/home/alice/r.txt").OK(200).Body
			if len(body) == 0 || !bytes.Equal(body, bytes.Repeat(body[:1], 10*int(body[0]-'a'+1))) {
				t.Errorf("mixed: %q", body)
			}
			wantUsed(t, alice.In(t), before-5+int64(len(body)), files)
		})
		t.Run("deleting a folder during uploads", func(t *testing.T) {
			for round := range 5 {
				before, files := usedQuota(alice.In(t))
				dir := fmt.Sprintf("d%d", round)
				folder := mkdir(alice.In(t), home, dir)
				id := newUploadSession(alice.In(t), home+"/"+dir, "f", 3)
				etag := putRaw(alice.In(t), id, "abc").OK(200).Text("etag")
				countStatuses(t, runConcurrently(t, alice, 2, func(c *apptest.Client, i int) *apptest.Reply {
					if i == 0 {
						return completeUpload(c, id, etag)
					}
					return c.Delete("/api/files/" + folder)
				}))
				alice.In(t).Get("/api/files/"+folder).Fails(404, "NOT_FOUND")
				wantUsed(t, alice.In(t), before, files)
			}
		})
	})
}

// Abuse case C91: folders that are moved into each other concurrently never make a cycle, and no
// file is lost.
func TestConcurrentMoves(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		const home = "/home/alice"
		for round := range 8 {
			a, b := fmt.Sprintf("a%d", round), fmt.Sprintf("b%d", round)
			ids := [2]string{mkdir(alice, home, a), mkdir(alice, home, b)}
			kept := [2]string{alice.Upload(home+"/"+a, "in a", []byte("a")),
				alice.Upload(home+"/"+b, "in b", []byte("b"))}
			targets := [2]string{home + "/" + b, home + "/" + a}
			replies := runConcurrently(t, alice, 5, func(c *apptest.Client, i int) *apptest.Reply {
				switch i {
				case 0, 1:
					return c.Post("/api/files/"+ids[i]+"/move", M{"targetPath": targets[i]})
				case 2:
					return c.Put("/api/files/"+ids[0], M{"name": a + " renamed"})
				case 3:
					return listFolder(c, home, "search", "in")
				}
				return c.Post("/api/files/folder", M{"path": home + "/" + b, "name": "new"})
			})
			count := countStatuses(t, replies)
			if moved := (replies[0].Status == 200); moved && replies[1].Status == 200 {
				t.Errorf("both moves succeeded: %v", count)
			}
			for i, id := range kept {
				details := alice.Get("/api/files/" + id).OK(200)
				path := details.Text("file.path") + "/" + details.Text("file.name")
				wantBody(t, alice.Get(percentEncode(path)).OK(200), []string{"a", "b"}[i])
			}
		}
		wantUsed(t, alice, 16, 16)
	})
}

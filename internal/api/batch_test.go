package api_test

import (
	"fmt"
	"strings"
	"testing"

	"larder/internal/apptest"
	"larder/internal/db"
)

// postBatch posts a batch of one action on ids, with a target path for a move.
func postBatch(c *apptest.Client, action string, ids []string, target ...string) *apptest.Reply {
	body := M{"action": action, "fileIds": ids}
	for _, path := range target {
		body["targetPath"] = path
	}
	return c.Post("/api/files/batch", body)
}

// wantOutcomes fails the test unless the answer lists exactly these ids in this order: those that
// succeeded, then those that failed with their error codes.
func wantOutcomes(t *testing.T, what string, r *apptest.Reply, succeeded []string, failed ...[2]string) {
	t.Helper()
	if wantStatus(t, what, r, 200, ""); r.Status != 200 {
		return
	}
	wantFields(t, what, r.Object()["data"], "succeeded", "failed", "jobs", "trashIds")
	wantJSON(t, what+": succeeded", r.Value("succeeded"), succeeded)
	list, _ := r.Value("failed").([]any)
	if len(list) != len(failed) {
		t.Errorf("%s: failed %.300s, want %v", what, r.Body, failed)
		return
	}
	for i, want := range failed {
		item := fmt.Sprintf("failed.%d", i)
		wantFields(t, what, r.Value(item), "id", "error", "code")
		if r.Text(item+".id") != want[0] || r.Text(item+".code") != want[1] ||
			!strings.HasSuffix(r.Text(item+".error"), ".") {
			t.Errorf("%s: %v, want %v", what, r.Value(item), want)
		}
	}
}

// Abuse cases C30, C18.
func TestBatchDelete(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		const home = "/home/alice"
		t.Run("each id has its own outcome", func(t *testing.T) {
			admin, alice, bob := admin.In(t), alice.In(t), bob.In(t)
			a, b := alice.Upload(home, "a.txt", []byte("aaaa")), alice.Upload(home, "b.txt", []byte("bb"))
			foreign := bob.Upload("/home/bob", "a-secret-name.txt", []byte("x"))
			mkdir(alice, home, "locked")
			denied := alice.Upload(home+"/locked", "d.txt", []byte("d"))
			shown := admin.Upload("/public", "shown.txt", []byte("x")) // may be read, not deleted
			addRule(admin, M{"pathPattern": home + "/locked/**", "effect": "deny", "role": "user",
				"permissions": []string{"delete"}})
			long := strings.Repeat("x", 65)
			r := postBatch(alice, "delete", []string{foreign, a, "none", a, denied, "", b, foreign, long, "none", b,
				shown, a[:35]})
			wantOutcomes(t, "delete", r, []string{a, b}, [2]string{foreign, "FORBIDDEN"},
				[2]string{"none", "NOT_FOUND"}, [2]string{denied, "FORBIDDEN"}, [2]string{"", "NOT_FOUND"},
				[2]string{long, "NOT_FOUND"}, [2]string{shown, "FORBIDDEN"}, [2]string{a[:35], "NOT_FOUND"})
			wantJSON(t, "jobs", r.Value("jobs"), []string{})
			for _, word := range []string{"secret", "bob", "shown", "locked", "/home", "d.txt"} {
				if strings.Contains(string(r.Body), word) {
					t.Errorf("the answer reveals %q: %s", word, r.Body)
				}
			}
			wantBody(t, bob.Get("/home/bob/a-secret-name.txt").OK(200), "x")
			wantBody(t, admin.Get("/public/shown.txt").OK(200), "x")
			wantStrings(t, "left", listNames(alice, home), "locked")
			wantUsed(t, alice, 1, 1)
			wantOutcomes(t, "again", postBatch(alice, "delete", []string{a}, "../nonsense"), []string{},
				[2]string{a, "NOT_FOUND"})
		})
		t.Run("a folder and its contents", func(t *testing.T) {
			alice, bob := alice.In(t), bob.In(t)
			bytes, files := usedQuota(alice)
			folder, beside := mkdir(alice, home, "a_b"), mkdir(alice, home, "axb")
			deep := mkdir(alice, home+"/a_b", "deep")
			first, last := alice.Upload(home+"/a_b", "first", []byte("1")), alice.Upload(home+"/a_b/deep", "last",
				[]byte("12"))
			alice.Upload(home+"/axb", "stays", []byte("x"))
			foreign := bob.Upload("/home/bob", "stays", []byte("x"))
			wantOutcomes(t, "delete", postBatch(alice, "delete",
				[]string{first, folder, last, foreign, deep, first, folder}), []string{first, folder, last, deep},
				[2]string{foreign, "FORBIDDEN"})
			for _, id := range []string{folder, deep, first, last} {
				alice.Get("/api/files/"+id).Fails(404, "NOT_FOUND")
			}
			alice.Get("/api/files/" + beside).OK(200)
			wantUsed(t, alice, bytes+1, files+1)
		})
		t.Run("mounts and the root", func(t *testing.T) {
			admin := admin.In(t)
			over := mkdir(admin, "/", "over")
			addMount(admin, addProvider(admin, "fixed"), "/over/mounted")
			root := listFolder(admin, "/over").OK(200).Text("items.0.id")
			wantOutcomes(t, "delete", postBatch(admin, "delete", []string{root, over}), []string{},
				[2]string{root, "OPERATION_FAILED"}, [2]string{over, "OPERATION_FAILED"})
			admin.Get("/api/files/" + over).OK(200)
		})
	})
}

// With fromPath, a move applies only to entries in that folder. The answer about another account's
// file does not depend on the folder.
func TestBatchMoveFromAFolder(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		const home = "/home/alice"
		mkdir(alice, home, "left")
		mkdir(alice, home, "to")
		here := alice.Upload(home+"/left", "here.txt", []byte("h"))
		moved := alice.Upload(home, "moved.txt", []byte("m"))
		foreign := bob.Upload("/home/bob", "theirs.txt", []byte("t"))
		move := func(from string, ids ...string) *apptest.Reply {
			return alice.Post("/api/files/batch",
				M{"action": "move", "fileIds": ids, "targetPath": home + "/to", "fromPath": from})
		}
		wantOutcomes(t, "from a folder", move(home+"/left", here, moved), []string{here},
			[2]string{moved, "OPERATION_FAILED"})
		wantStrings(t, "the target", listNames(alice, home+"/to"), "here.txt")
		wantStatus(t, "a path with dots", move(home+"/../alice", moved), 400, "VALIDATION_ERROR")
		for _, from := range []string{"/home/bob", "/home/none"} {
			wantOutcomes(t, "theirs from "+from, move(from, foreign), []string{}, [2]string{foreign, "FORBIDDEN"})
		}
		wantStatus(t, "a deletion", alice.Post("/api/files/batch",
			M{"action": "delete", "fileIds": []string{moved}, "fromPath": home}), 400, "VALIDATION_ERROR")
		wantOutcomes(t, "from where it is", move(home, moved), []string{moved})
	})
}

// Abuse cases C30, C26 beyond one entry.
func TestBatchMove(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		addVaultMount(t, l)
		admin, alice, bob := l.Admin(t), l.User(t, "alice"), l.User(t, "bob")
		const home = "/home/alice"
		t.Run("each id has its own outcome", func(t *testing.T) {
			admin, alice, bob := admin.In(t), alice.In(t), bob.In(t)
			to := mkdir(alice, home, "to")
			a, folder := alice.Upload(home, "a.txt", []byte("a")), mkdir(alice, home, "folder")
			taken := alice.Upload(home, "taken.txt", []byte("outer"))
			alice.Upload(home+"/to", "taken.txt", []byte("inner"))
			foreign := bob.Upload("/home/bob", "a-secret-name.txt", []byte("x"))
			mkdir(alice, home, "locked")
			denied := alice.Upload(home+"/locked", "d.txt", []byte("d"))
			addRule(admin, M{"pathPattern": home + "/locked/**", "effect": "deny", "role": "user",
				"permissions": []string{"delete"}})
			top := admin.Get("/api/files/" + admin.Get("/api/files?path=/").OK(200).Text("folder.id")).OK(200).
				Text("file.id")
			r := postBatch(alice, "move", []string{to, a, foreign, a, "none", taken, folder, denied, to}, home+"/to")
			wantOutcomes(t, "move", r, []string{a, folder}, [2]string{to, "OPERATION_FAILED"},
				[2]string{foreign, "FORBIDDEN"}, [2]string{"none", "NOT_FOUND"},
				[2]string{taken, "OPERATION_FAILED"}, [2]string{denied, "FORBIDDEN"})
			wantJSON(t, "jobs of immediate moves", r.Value("jobs"), []string{})
			for _, word := range []string{"secret", "bob", "taken", "d.txt", "/home"} {
				if strings.Contains(string(r.Body), word) {
					t.Errorf("the answer reveals %q: %s", word, r.Body)
				}
			}
			wantStrings(t, "to", listNames(alice, home+"/to"), "folder", "a.txt", "taken.txt")
			wantBody(t, alice.Get(home+"/to/taken.txt").OK(200), "inner")
			wantBody(t, alice.Get(home+"/taken.txt").OK(200), "outer")
			wantBody(t, bob.Get("/home/bob/a-secret-name.txt").OK(200), "x")
			wantOutcomes(t, "a mount's root", postBatch(admin, "move", []string{top}, "/uploads"), []string{},
				[2]string{top, "OPERATION_FAILED"})
			for target, code := range map[string]string{"/home/bob": "FORBIDDEN", "/home/none": "FORBIDDEN",
				home + "/none": "NOT_FOUND", home + "/taken.txt": "NOT_FOUND", "/api": "VALIDATION_ERROR"} {
				wantOutcomes(t, "to "+target, postBatch(alice, "move", []string{a, foreign}, target), []string{},
					[2]string{a, code}, [2]string{foreign, "FORBIDDEN"})
			}
		})
		t.Run("a folder and an entry in it", func(t *testing.T) {
			alice := alice.In(t)
			for i, order := range [][2]int{{0, 1}, {1, 0}} {
				base := fmt.Sprintf("%s/order%d", home, i)
				mkdir(alice, home, fmt.Sprint("order", i))
				mkdir(alice, base, "there")
				ids := [2]string{mkdir(alice, base, "box"), alice.Upload(base+"/box", "thing", []byte("x"))}
				wantOutcomes(t, base, postBatch(alice, "move", []string{ids[order[0]], ids[order[1]]}, base+"/there"),
					[]string{ids[order[0]], ids[order[1]]})
				wantStrings(t, base, listNames(alice, base+"/there"), "box", "thing")
				wantStrings(t, base+" box", listNames(alice, base+"/there/box"))
			}
		})
		t.Run("to another provider", func(t *testing.T) {
			alice := alice.In(t)
			a, b := alice.Upload(home, "far.txt", []byte("far away")), alice.Upload(home, "near.txt", []byte("near"))
			empty := mkdir(alice, home, "empty")
			r := postBatch(alice, "move", []string{a, empty, "none", b, a}, "/vault")
			wantOutcomes(t, "move", r, []string{a, empty, b}, [2]string{"none", "NOT_FOUND"})
			if list, _ := r.Value("jobs").([]any); len(list) != 2 { // an empty folder needs no copying
				t.Fatalf("jobs: %s", r.Body)
			}
			for i, id := range []string{a, b} {
				wantFields(t, "a job", r.Value(fmt.Sprint("jobs.", i)), "id", "jobId")
				wantJSON(t, "its entry", r.Value(fmt.Sprintf("jobs.%d.id", i)), id)
				wantJSON(t, "its end", waitForJob(t, alice,
					r.Text(fmt.Sprintf("jobs.%d.jobId", i))).Value("job.status"), "completed")
			}
			wantBody(t, alice.Get("/vault/far.txt").OK(200), "far away")
			wantBody(t, alice.Get("/vault/near.txt").OK(200), "near")
			wantStrings(t, "vault", listNames(alice, "/vault"), "empty", "far.txt", "near.txt")
		})
	})
}

// Specification: Limits, Batch size; POST /api/files/batch.
func TestBatchBounds(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		const home = "/home/alice"
		target := mkdir(alice, home, "target")
		mine := alice.Upload(home, "mine.txt", []byte("x"))
		many := func(n int) []string {
			ids := []string{mine}
			for i := len(ids); i < n; i++ {
				ids = append(ids, fmt.Sprint("none", i))
			}
			return ids[:n]
		}
		for _, action := range []string{"delete", "move"} {
			for n, want := range map[int]int{0: 400, 101: 400, 1: 200, 100: 200} {
				id := alice.Upload(home, "counted", []byte("x"))
				ids := many(n)
				if n > 0 {
					ids[n-1] = id
				}
				r := postBatch(alice, action, ids, home+"/target")
				wantStatus(t, fmt.Sprint(action, " of ", n), r, want, map[int]string{400: "VALIDATION_ERROR"}[want])
				if want == 200 && r.Value(fmt.Sprint("succeeded.", min(1, n-1))) != id {
					t.Errorf("%s of %d: %.300s", action, n, r.Body)
				}
				alice.Delete("/api/files/" + id)
				alice.Delete("/api/files/" + mine)
				mine = alice.Upload(home, "mine.txt", []byte("x"))
			}
			wantStatus(t, "101 times the same",
				postBatch(alice, action, strings.Fields(strings.Repeat(mine+" ", 101)), home+"/target"), 400,
				"VALIDATION_ERROR")
			wantOutcomes(t, "100 times the same",
				postBatch(alice, action, strings.Fields(strings.Repeat(mine+" ", 100)), home+"/target"), []string{mine})
			mine = alice.Upload(home, "mine.txt", []byte("x"))
		}
		body := func(text string) string { return strings.ReplaceAll(text, "ID", mine) }
		for _, bad := range []string{
			`{}`, `{"fileIds":["ID"]}`, `{"action":"delete"}`, `{"action":null,"fileIds":["ID"]}`,
			`{"action":"delete","fileIds":null}`, `{"action":"","fileIds":["ID"]}`,
			`{"action":"copy","fileIds":["ID"]}`, `{"action":"Delete","fileIds":["ID"]}`,
			`{"action":["delete"],"fileIds":["ID"]}`, `{"action":1,"fileIds":["ID"]}`,
			`{"action":"delete","fileIds":"ID"}`, `{"action":"delete","fileIds":{"0":"ID"}}`,
			`{"action":"delete","fileIds":["ID",null]}`, `{"action":"delete","fileIds":[null]}`,
			`{"action":"delete","fileIds":["ID",1]}`, `{"action":"delete","fileIds":["ID",true]}`,
			`{"action":"delete","fileIds":["ID",["ID"]]}`, `{"action":"delete","fileIds":["ID",{"id":"ID"}]}`,
			`{"action":"delete","fileIds":["ID","\u0000"]}`, `{"action":"delete","fileids":["ID"]}`,
			`{"action":"delete","fileIds":["ID"],"targetPath":1}`, `{"action":"move","fileIds":["ID"]}`,
			`{"action":"move","fileIds":["ID"],"targetPath":null}`,
			`{"action":"move","fileIds":["ID"],"targetPath":""}`,
			`{"action":"move","fileIds":["ID"],"targetPath":["/home/alice/target"]}`,
			`{"action":"move","fileIds":["ID"],"targetPath":"home/alice/target"}`,
			`{"action":"move","fileIds":["ID"],"targetPath":"/home/alice/target/../target"}`, `["ID"]`, `"ID"`,
		} {
			wantStatus(t, bad, alice.Post("/api/files/batch", body(bad), "Content-Type", "application/json"), 400,
				"VALIDATION_ERROR")
		}
		wantStrings(t, "untouched", listNames(alice, home), "target", "mine.txt")
		alice.Get("/api/files/" + target).OK(200)
	})
}

// Abuse cases C15 and C32: only keys with the permissions of the single operation run a batch,
// inside their upload roots.
func TestBatchByKeys(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		const home = "/home/alice"
		mkdir(alice, home, "in")
		mkdir(alice, home+"/in", "to")
		outside := alice.Upload(home, "outside.txt", []byte("x"))
		for _, test := range []struct {
			permissions  []string
			delete, move bool
		}{
			{[]string{"read"}, false, false}, {[]string{"write"}, false, false}, {[]string{"delete"}, true, false},
			{[]string{"read", "write"}, false, false},
			{[]string{"read", "delete"}, true, false}, {[]string{"write", "delete"}, true, true},
		} {
			key := alice.Key(M{"uploadPath": home + "/in", "permissions": test.permissions})
			for action, may := range map[string]bool{"delete": test.delete, "move": test.move} {
				what := fmt.Sprintf("%s with %v", action, test.permissions)
				id := alice.Upload(home+"/in", action, []byte("x"))
				r := postBatch(key, action, []string{outside, id}, home+"/in/to")
				if may {
					wantOutcomes(t, what, r, []string{id}, [2]string{outside, "FORBIDDEN"})
				} else {
					wantStatus(t, what, r, 403, "FORBIDDEN")
					alice.Get(home + "/in/" + action).OK(200)
				}
				if !may { // and does not learn how it would have ended
					wantStatus(t, what+" to an invalid path", postBatch(key, action, []string{"none"}, "no path"),
						403, "FORBIDDEN")
				}
				alice.Delete("/api/files/" + id)
			}
		}
		wantOutcomes(t, "out of the root", postBatch(alice.Key(M{"uploadPath": home + "/in/to"}), "move",
			[]string{outside}, home+"/in/to"), []string{}, [2]string{outside, "FORBIDDEN"})
		wantStatus(t, "a key for WebDAV", postBatch(alice.Key(M{"uploadPath": "/", "protocols": []string{"webdav"}}),
			"delete", []string{outside}), 403, "FORBIDDEN")
		wantStatus(t, "a visitor", postBatch(l.Client(t), "delete", []string{outside}), 401, "UNAUTHORIZED")
		careless := alice.Fork()
		careless.CSRF = ""
		wantStatus(t, "without a CSRF token", postBatch(careless, "delete", []string{outside}), 403, "INVALID_CSRF")
		alice.Get(home + "/outside.txt").OK(200)
	})
}

// An internal error fails only its own entry. It is reported and logged like any server error.
func TestBatchContinuesAfterInternalError(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		var ids []string
		for _, name := range []string{"a", "broken", "c"} {
			ids = append(ids, alice.Upload("/home/alice", name, []byte(name)))
		}
		err := l.Apps[0].DB.Write(t.Context(), func(tx *db.Tx) error { // an object without a row
			_, err := tx.Exec("DELETE FROM objects WHERE id = (SELECT object_id FROM entries WHERE id = $1)", ids[1])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		single := alice.Delete("/api/files/"+ids[1]).Fails(500, "INTERNAL_ERROR")
		lines := func() int { return strings.Count(l.Log.String(), "release object") }
		before := lines()
		r := postBatch(alice, "delete", ids)
		wantOutcomes(t, "delete", r, []string{ids[0], ids[2]}, [2]string{ids[1], "INTERNAL_ERROR"})
		message := strings.ReplaceAll(r.Text("failed.0.error"), r.Header.Get("X-Request-Id"), "ID")
		if !strings.Contains(single.BodyWithoutID(), `"message":"`+message+`"`) ||
			strings.Contains(string(r.Body), "object") {
			t.Errorf("the batch answers %s, the single request %s", r.Body, single.Body)
		}
		if n := lines(); n != before+1 {
			t.Errorf("%d lines in the log, %d before", n, before)
		}
		wantUsed(t, alice, 6, 1)
	})
}

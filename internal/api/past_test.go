package api_test

import (
	"fmt"
	"testing"
	"time"

	"larder/internal/apptest"
)

// Addition: earlier times (docs/decisions.md, Earlier times). "I look at a folder as it was last
// week, and open a picture as it was."
func TestEarlierTimes(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob, guest := l.User(t, "alice"), l.User(t, "bob"), l.Client(t)
		begin := l.Clock.Now().UnixMilli()
		l.Sweep()
		l.Clock.Advance(time.Minute)
		cat := alice.Upload("/home/alice/Trip", "cat.png", []byte("meow"))
		sub := alice.Post("/api/files/folder", M{"path": "/home/alice/Trip", "name": "sub"}).OK(201).Text("file.id")
		alice.Upload("/home/alice/Trip/sub", "deep.txt", []byte("deep"))
		l.Clock.Advance(time.Minute)
		then := l.Clock.Now().UnixMilli()
		l.Clock.Advance(time.Minute)
		alice.Upload("/home/alice/Trip", "cat.png", []byte("purr, purr"), M{"conflict": "replace"})
		alice.Delete("/api/files/" + sub + "?trash=true").OK(200)
		l.Clock.Advance(time.Minute)

		list := fmt.Sprint("/api/files?path=/home/alice/Trip&at=", then)
		then1 := alice.Get(list).OK(200)
		wantJSON(t, "the pages", then1.Value("pagination"), M{"total": 2, "page": 1, "limit": 100, "pages": 1})
		wantJSON(t, "complete since", then1.Value("completeSince"), begin)
		wantJSON(t, "known since", then1.Value("knownSince"), begin)
		wantJSON(t, "gaps", then1.Value("gaps"), nil)
		for i, want := range []M{
			{"name": "sub", "path": "/home/alice/Trip", "type": "folder", "state": "trashed", "size": 0},
			{"name": "cat.png", "path": "/home/alice/Trip", "type": "file", "state": "changed", "size": 4, "id": cat},
		} {
			item := then1.Value("items").([]any)[i].(map[string]any)
			for name, value := range want {
				wantJSON(t, fmt.Sprint("item ", i, " ", name), item[name], value)
			}
			wantJSON(t, "permissions", item["permissions"], []any{"read", "download"})
		}
		deep := alice.Get(fmt.Sprint("/api/files?folderId=", sub, "&at=", then)).OK(200)
		wantJSON(t, "in the trash", deep.Value("items.0.name"), "deep.txt")
		wantJSON(t, "its path", deep.Value("items.0.path"), "/home/alice/Trip/sub")
		now := alice.Get("/api/files?path=/home/alice/Trip").OK(200)
		for _, name := range []string{"completeSince", "knownSince", "gaps", "items.0.state"} {
			if value := now.Value(name); value != nil {
				t.Errorf("a listing of now has %s: %v", name, value)
			}
		}

		download := "/api/files/" + cat + "/download?at="
		saved := alice.Get(fmt.Sprint(download, then)).OK(200).Text("url")
		wantBody(t, guest.Get(saved).OK(200), "meow")
		saved = alice.Get(fmt.Sprint(download, l.Clock.Now().UnixMilli())).OK(200).Text("url")
		wantBody(t, guest.Get(saved).OK(200), "purr, purr")
		wantBody(t, alice.Get(fmt.Sprint(download, then), "Sec-Fetch-Dest", "image").OK(200), "meow")
		wantJSON(t, "HEAD", alice.Do(apptest.Request{Method: "HEAD", Path: fmt.Sprint(download, then)}).Status, 200)
		alice.Get(fmt.Sprint(download, begin)).Fails(404, "NOT_FOUND")
		alice.Get("/api/files/"+sub+"/download?at=1").Fails(404, "NOT_FOUND")
		for _, wrong := range []string{"", "x", "-1", "1.5"} {
			alice.Get(download+wrong).Fails(400, "VALIDATION_ERROR")
		}
		bob.Get(fmt.Sprint(download, then)).Fails(403, "FORBIDDEN")

		alice.Get(fmt.Sprint("/api/files?path=/home/alice/Trip&at=", begin-1)).Fails(400, "VALIDATION_ERROR")
		alice.Get(fmt.Sprint("/api/files?path=/home/alice/Trip&at=", begin)).Fails(404, "NOT_FOUND")
		alice.Get(fmt.Sprint("/api/files?path=/home/alice&at=", begin)).OK(200)
		present := l.Clock.Now().UnixMilli()
		alice.Get(fmt.Sprint("/api/files?path=/home/alice/Trip&at=", present)).OK(200)
		alice.Get(fmt.Sprint("/api/files?path=/home/alice/Trip&at=", present+1)).Fails(400, "VALIDATION_ERROR")
		alice.Get(list+"&search=cat").Fails(400, "VALIDATION_ERROR")
		alice.Get("/api/files?path=/home/alice/Trip&at=x").Fails(400, "VALIDATION_ERROR")
		alice.Get("/api/files?folderId="+sub).Fails(400, "VALIDATION_ERROR")
		alice.Get(fmt.Sprint("/api/files?folderId=none&at=", then)).Fails(404, "NOT_FOUND")
		bob.Get(list).Fails(403, "FORBIDDEN")
		bob.Get(fmt.Sprint("/api/files?folderId=", sub, "&at=", then)).Fails(404, "NOT_FOUND")
		guest.Get(list).Fails(401, "UNAUTHORIZED")
	}, withTrash)
}

// Addition: "My editor saves letters by WebDAV, with lock files and new files that it moves over
// the former ones. I look at my letters as they were before, and bring them back."
func TestEarlierTimesOfAnEditor(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, editor := davHome(t, l, "alice")
		l.Sweep()
		l.Clock.Advance(time.Minute)
		letters := alice.Post("/api/files/folder", M{"path": "/home/alice", "name": "letters"}).OK(201).Text("file.id")
		letter := alice.Upload("/home/alice/letters", "letter.txt", []byte("Dear Bob"))
		then := l.Clock.Now().UnixMilli()
		l.Clock.Advance(time.Minute)
		const folder = "/home/alice/letters"
		var gaps []any
		for _, text := range []string{"Dear Bob, how are you?", "Dear Bob, how are you? Alice"} {
			locked := l.Clock.Now().UnixMilli()
			wantStatus(t, "PUT of a lock file", dav(editor, "PUT", folder+"/.~lock", []byte("alice")), 201, "")
			l.Clock.Advance(time.Minute)
			wantStatus(t, "PUT of a new file", dav(editor, "PUT", folder+"/new.tmp", []byte(text)), 201, "")
			l.Clock.Advance(time.Second)
			wantStatus(t, "MOVE over the letter", dav(editor, "MOVE", folder+"/new.tmp", nil, "Destination",
				"/webdav"+folder+"/letter.txt", "Overwrite", "T"), 204, "")
			l.Clock.Advance(time.Minute)
			wantStatus(t, "DELETE of the lock file", dav(editor, "DELETE", folder+"/.~lock", nil), 204, "")
			gaps = append(gaps, M{"since": locked, "until": l.Clock.Now().UnixMilli()})
			l.Clock.Advance(time.Minute)
		}

		list := "/api/files?path=" + folder + "&at="
		earlier := alice.Get(fmt.Sprint(list, then)).OK(200)
		wantJSON(t, "the letter", earlier.Value("items.0.size"), 8)
		wantJSON(t, "how many", earlier.Value("pagination.total"), 1)
		wantJSON(t, "gaps", earlier.Value("gaps"), gaps)
		last := gaps[1].(M)["until"].(int64)
		wantJSON(t, "complete since", earlier.Value("completeSince"), last)
		alice.Get(fmt.Sprint(list, last-1)).Fails(400, "VALIDATION_ERROR")
		alice.Get(fmt.Sprint(list, last)).OK(200)
		alice.Post("/api/files/"+letters+"/rewind", M{"at": last - 1}).Fails(400, "VALIDATION_ERROR")
		done := alice.Post("/api/files/"+letters+"/rewind", M{"at": then}).OK(200)
		waitForJob(t, alice, done.Text("jobId"))
		wantBody(t, alice.Get("/api/files/"+letter+"/download", "Sec-Fetch-Dest", "image").OK(200), "Dear Bob")
	}, withTrash)
}

// Addition: "I bring a folder back to how it was an hour ago."
func TestRewind(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice"), l.User(t, "bob")
		l.Sweep()
		l.Clock.Advance(time.Minute)
		trip := alice.Post("/api/files/folder", M{"path": "/home/alice", "name": "Trip"}).OK(201).Text("file.id")
		cat := alice.Upload("/home/alice/Trip", "cat.png", []byte("meow"))
		dog := alice.Upload("/home/alice/Trip", "dog.png", []byte("bark"))
		moved := alice.Upload("/home/alice/Trip", "moved.png", []byte("away"))
		l.Clock.Advance(time.Minute)
		then := l.Clock.Now().UnixMilli()
		l.Clock.Advance(time.Minute)
		alice.Upload("/home/alice/Trip", "cat.png", []byte("purr, purr"), M{"conflict": "replace"})
		alice.Delete("/api/files/" + dog + "?trash=true").OK(200)
		alice.Post("/api/files/"+moved+"/move", M{"targetPath": "/home/alice"}).OK(200)
		alice.Upload("/home/alice/Trip", "new.png", []byte("new"))
		l.Clock.Advance(time.Minute)

		rewind := "/api/files/" + trip + "/rewind"
		step := func(name string) M {
			return M{"count": 1, "paths": []any{"/home/alice/Trip/" + name}}
		}
		plan := alice.Post(rewind, M{"at": then, "dryRun": true}).OK(200)
		wantJSON(t, "the plan", plan.Object()["data"], M{"jobId": nil, "plan": M{"comeBack": step("dog.png"),
			"moveBack": step("moved.png"), "revert": step("cat.png"), "toTrash": step("new.png"), "blocked": []any{},
			"blockedCount": 0}})
		alice.Get("/api/files/"+dog).Fails(404, "NOT_FOUND")
		for _, body := range []M{{}, {"at": "x"}, {"at": -1}, {"at": l.Clock.Now().UnixMilli() + 1}, {"at": 1},
			{"at": then, "dryRun": 1}} {
			alice.Post(rewind, body).Fails(400, "VALIDATION_ERROR")
		}
		bob.Post(rewind, M{"at": then}).Fails(403, "FORBIDDEN")
		alice.Post("/api/files/"+dog+"/rewind", M{"at": then}).Fails(404, "NOT_FOUND")
		alice.Post("/api/files/"+cat+"/rewind", M{"at": then}).Fails(404, "NOT_FOUND")

		l.Clock.Advance(time.Second) // after the refused ones in the log
		done := alice.Post(rewind, M{"at": then}).OK(200)
		wantJSON(t, "no plan", done.Value("plan"), nil)
		waitForJob(t, alice, done.Text("jobId"))
		for _, id := range []string{cat, dog, moved} {
			file := alice.Get("/api/files/" + id).OK(200)
			wantJSON(t, "its place", []any{file.Value("file.path"), file.Value("file.size")}, []any{"/home/alice/Trip", 4})
		}
		items := trashOf(t, alice, "")
		if len(items) != 1 || items[0]["name"] != "new.png" || items[0]["reason"] != "rewind" {
			t.Errorf("the trash has %v", items)
		}
		key := alice.Key(M{"permissions": []string{"read", "write"}, "uploadPath": "/home/alice"})
		key.Post(rewind, M{"at": then, "dryRun": true}).OK(200)
		key.Post(rewind, M{"at": then}).Fails(403, "FORBIDDEN")
		l.FlushLog()
		rows := l.Admin(t).Get("/api/admin/logs?action=rewind").OK(200)
		wantJSON(t, "the log", rows.Value("logs.0.path"), "/home/alice/Trip")
	}, withTrash)
}

// Addition: "I copy a picture as it was last week beside the present one."
func TestCopyFromAnEarlierTime(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice, bob := l.User(t, "alice", M{"maxStorage": 32}), l.User(t, "bob")
		l.Sweep()
		l.Clock.Advance(time.Minute)
		const home = "/home/alice"
		cat := alice.Upload(home+"/Trip", "cat.png", []byte("meow"))
		dog := alice.Upload(home+"/Trip", "dog.png", []byte("bark"))
		trip := alice.Get("/api/files?path=" + home).OK(200).Text("items.0.id")
		l.Clock.Advance(time.Minute)
		then := l.Clock.Now().UnixMilli()
		l.Clock.Advance(time.Minute)
		alice.Upload(home+"/Trip", "cat.png", []byte("purr, purr"), M{"conflict": "replace"})
		alice.Delete("/api/files/" + dog + "?trash=true").OK(200)
		l.Clock.Advance(time.Minute)

		post := func(c *apptest.Client, id string, body M) *apptest.Reply {
			return c.Post("/api/files/"+id+"/copy", body)
		}
		to := M{"targetPath": home + "/Trip", "at": then}
		copied := post(alice, cat, to).OK(200)
		wantJSON(t, "the status", copied.Value("status"), "pending")
		for field, want := range map[string]any{"name": "cat (1).png", "path": home + "/Trip", "size": 4,
			"type": "file"} {
			wantJSON(t, field, copied.Value("file."+field), want)
		}
		job := alice.Get("/api/files/jobs/" + copied.Text("jobId")).OK(200)
		wantJSON(t, "the job", []any{job.Value("job.type"), job.Value("job.status")}, []any{"copy", "completed"})
		wantBody(t, alice.Get(home+"/Trip/cat%20(1).png").OK(200), "meow")
		wantBody(t, alice.Get(home+"/Trip/cat.png").OK(200), "purr, purr")
		wantUsed(t, alice, 14, 2)
		copied = post(alice, trip, M{"targetPath": home, "at": then, "newName": "Old trip"}).OK(200)
		wantJSON(t, "the folder", copied.Value("file.name"), "Old trip")
		wantBody(t, alice.Get(home+"/Old%20trip/cat.png").OK(200), "meow")
		wantBody(t, alice.Get(home+"/Old%20trip/dog.png").OK(200), "bark")
		wantUsed(t, alice, 22, 4)
		if file := post(alice, cat, M{"targetPath": home, "newName": "now.png"}).OK(200).Value("file"); file != nil {
			t.Errorf("a copy of now has %v", file)
		}
		post(alice, trip, M{"targetPath": home, "at": then}).Fails(413, "QUOTA_EXCEEDED")

		for _, at := range []any{"x", -1, 1.5, 1, l.Clock.Now().UnixMilli() + 1} {
			post(alice, cat, M{"targetPath": home, "at": at}).Fails(400, "VALIDATION_ERROR")
		}
		post(alice, cat, M{"at": then}).Fails(400, "VALIDATION_ERROR")
		post(alice, "none", to).Fails(404, "NOT_FOUND")
		post(alice, cat, M{"targetPath": home + "/none", "at": then}).Fails(404, "NOT_FOUND")
		post(bob, cat, M{"targetPath": "/home/bob", "at": then}).Fails(403, "FORBIDDEN")
		post(bob, dog, M{"targetPath": "/home/bob", "at": then}).Fails(404, "NOT_FOUND")
		post(l.Client(t), cat, to).Fails(401, "UNAUTHORIZED")
		post(alice.Key(M{"permissions": []string{"read"}, "uploadPath": home}), cat, to).Fails(403, "FORBIDDEN")
		key := alice.Key(M{"permissions": []string{"read", "write"}, "uploadPath": home + "/Old trip"})
		post(key, cat, M{"targetPath": home, "at": then}).Fails(403, "FORBIDDEN")
		post(key, cat, M{"targetPath": home + "/Old trip", "at": then}).Fails(413, "QUOTA_EXCEEDED")
		l.FlushLog()
		rows := l.Admin(t).Get("/api/admin/logs?action=upload&search=/home/alice/Trip&limit=100").OK(200)
		wantJSON(t, "the log", rows.Value("logs.0.path"), home+"/Trip")
	}, withTrash)
}

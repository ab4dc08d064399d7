package api_test

import (
	"strings"
	"testing"
	"time"

	"larder/internal/apptest"
	"larder/internal/db/dbtest"
)

// Abuse case C126: the store is unreachable for a minute. Requests without bytes succeed. Requests
// for bytes get a 5xx and charge nothing. No row is deleted, the health probe reports the store,
// and all recovers by itself when the store is back.
func TestAStoreThatIsDown(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			f := newFaultFixture(t, engine, "worker").forSubtest(t, "/ward/down")
			f.key.Post("/api/files/folder", M{"path": "/ward", "name": "down"}).OK(201)
			file, deleted := uploadHealthy(f), f.key.Upload(f.dir, "deleted.txt", []byte(faultContent))
			admin := f.l.SignIn(t, "admin", apptest.AdminPassword)
			link := admin.Post("/api/files/"+file+"/link", M{}).OK(200).Text("link.url")
			gateway := downloadURL(f.key, file)
			whole := newUploadSession(f.key, f.dir, "whole.txt", len(faultContent))
			etag := putRaw(f.key, whole, faultContent).OK(200).Text("etag")
			empty, parts := newUploadSession(f.key, f.dir, "empty.txt", len(faultContent)), newPartSession(f)
			sendPart(f, parts).OK(200)
			visitor, drive := f.l.Client(t), davKey(admin, M{"uploadPath": "/"})

			f.proxy.Down()
			rows := queryInt(t, f.l, "SELECT COUNT(*) FROM objects")
			for range 2 {
				f.checkWorksWithoutBytes(t, file)
				for name, r := range map[string]*apptest.Reply{
					"by path": f.key.Get(f.dir + "/a.txt"), "by link": visitor.Get(link),
					"by gateway": visitor.Get(gateway), "a range": f.key.Get(f.dir+"/a.txt", "Range", "bytes=0-9"),
					"a compatible upload": f.key.Post("/api/upload", faultContent, "X-File-Name", "new.txt", "X-Path",
						f.dir), "bytes": putRaw(f.key, empty, faultContent),
					"a part": sendPart(f, parts), "complete": completeUpload(f.key, whole, etag),
					"complete parts": finishParts(f, parts),
					"begin parts":    postUploadSession(f.key, f.dir, "more.bin", len(faultContent), M{"partCount": 2}),
				} {
					if r.Err != nil || r.Status < 500 {
						t.Errorf("%s, while the store is down: %d %.200s (%v)", name, r.Status, r.Body, r.Err)
					}
				}
				for name, r := range map[string]*apptest.Reply{
					"GET": dav(drive, "GET", f.dir+"/a.txt", nil), "HEAD": dav(drive, "HEAD", f.dir+"/a.txt", nil),
					"PUT":             dav(drive, "PUT", f.dir+"/a.txt", faultContent),
					"PUT of more":     dav(drive, "PUT", f.dir+"/more.txt", faultContent),
					"LOCK of nothing": dav(drive, "LOCK", f.dir+"/locked.txt", lockBody),
				} {
					wantDAVStatus(t, name+" by WebDAV, while the store is down", r, 503)
				}
				dav(drive, "PROPFIND", f.dir, nil, "Depth", "1").OK(207)
				f.checkAccounting(t)
				f.l.Clock.Advance(30 * time.Second)
			}
			f.key.Delete("/api/files/" + deleted).OK(200)
			f.l.Clock.Advance(2 * time.Minute)
			f.l.Sweep() // no store is there to delete from
			wantJSON(t, "objects in the database", queryInt(t, f.l, "SELECT COUNT(*) FROM objects"), rows-1)
			f.checkProbesDegraded(t)

			f.proxy.Restore()
			f.waitForSuccess(t, func() *apptest.Reply { return f.key.Get(f.dir + "/a.txt") })
			wantBody(t, visitor.Get(gateway), faultContent) // the failed request did not use up its token
			wantBody(t, visitor.Get(link), faultContent)
			completeUpload(f.key, whole, etag).OK(200)
			finishParts(f, parts).OK(200)
			completeUpload(f.key, empty, putRaw(f.key, empty, faultContent).OK(200).Text("etag")).OK(200)
			f.checkFolder(t, map[string]string{"a.txt": faultContent, "whole.txt": faultContent,
				"a (1).txt": faultContent, "empty.txt": faultContent})
			f.waitForHealthyProbes(t)
			f.checkNothingLeft(t)
		})
	}
}

// checkWorksWithoutBytes checks the requests that need no bytes.
func (f *faultFixture) checkWorksWithoutBytes(t *testing.T, file string) {
	t.Helper()
	wantJSON(t, "files listed", len(f.listFolder()), 2)
	f.key.Get("/api/files/" + file).OK(200)
	for _, name := range []string{"renamed.txt", "a.txt"} {
		wantJSON(t, "the new name", f.key.Put("/api/files/"+file, M{"name": name}).OK(200).Text("file.name"), name)
	}
	f.key.Post("/api/files/folder", M{"path": f.dir, "name": "inner"}).OK(201)
	for _, target := range []string{f.dir + "/inner", f.dir} { // a move within one provider copies nothing
		f.key.Post("/api/files/"+file+"/move", M{"targetPath": target}).OK(200)
	}
	f.key.Delete("/api/files/" + entryIDOf(f.key, f.dir, "inner")).OK(200)
}

// checkProbesDegraded checks that the probes of each replica report the store as down and answer
// nevertheless.
func (f *faultFixture) checkProbesDegraded(t *testing.T) {
	t.Helper()
	for range f.l.Apps {
		if r := f.key.Get("/api/public/health"); r.Status != 200 || strings.Contains(string(r.Body), `"detail":""`) ||
			!strings.Contains(string(r.Body), "degraded") {
			t.Errorf("while the store is down: %d %s", r.Status, r.Body)
		}
		live := f.key.Get("/api/public/health/live")
		wantJSON(t, "whether it lives", live.Object(), M{"service": "larder", "status": "ok", "ready": true, "detail": ""})
		wantJSON(t, "the status of that", live.Status, 200)
	}
}

// waitForHealthyProbes waits until the probes of every replica report that all is well.
func (f *faultFixture) waitForHealthyProbes(t *testing.T) {
	t.Helper()
	for range f.l.Apps {
		f.waitForSuccess(t, func() *apptest.Reply {
			r := f.key.Get("/api/public/health/ready")
			if !strings.Contains(string(r.Body), `"detail":""`) {
				return &apptest.Reply{Status: 503, Body: r.Body}
			}
			return r
		})
	}
}

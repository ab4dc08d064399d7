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
			w := newFaultFixture(t, engine, "worker").forSubtest(t, "/ward/down")
			w.key.Post("/api/files/folder", M{"path": "/ward", "name": "down"}).OK(201)
			file, doomed := uploadHealthy(w), w.key.Upload(w.dir, "doomed.txt", []byte(faultContent))
			admin := w.l.SignIn(t, "admin", apptest.AdminPassword)
			link := admin.Post("/api/files/"+file+"/link", M{}).OK(200).Text("link.url")
			gateway := downloadURL(w.key, file)
			whole := newUploadSession(w.key, w.dir, "whole.txt", len(faultContent))
			etag := putRaw(w.key, whole, faultContent).OK(200).Text("etag")
			empty, parts := newUploadSession(w.key, w.dir, "empty.txt", len(faultContent)), newPartSession(w)
			sendPart(w, parts).OK(200)
			visitor, drive := w.l.Client(t), davKey(admin, M{"uploadPath": "/"})

			w.proxy.Down()
			rows := queryInt(t, w.l, "SELECT COUNT(*) FROM objects")
			for range 2 {
				w.checkWorksWithoutBytes(t, file)
				for name, r := range map[string]*apptest.Reply{
					"by path": w.key.Get(w.dir + "/a.txt"), "by link": visitor.Get(link),
					"by gateway": visitor.Get(gateway), "a range": w.key.Get(w.dir+"/a.txt", "Range", "bytes=0-9"),
					"a compatible upload": w.key.Post("/api/upload", faultContent, "X-File-Name", "new.txt", "X-Path",
						w.dir), "bytes": putRaw(w.key, empty, faultContent),
					"a part": sendPart(w, parts), "complete": completeUpload(w.key, whole, etag),
					"complete parts": finishParts(w, parts),
					"begin parts":    postUploadSession(w.key, w.dir, "more.bin", len(faultContent), M{"partCount": 2}),
				} {
					if r.Err != nil || r.Status < 500 {
						t.Errorf("%s, while the store is down: %d %.200s (%v)", name, r.Status, r.Body, r.Err)
					}
				}
				for name, r := range map[string]*apptest.Reply{
					"GET": dav(drive, "GET", w.dir+"/a.txt", nil), "HEAD": dav(drive, "HEAD", w.dir+"/a.txt", nil),
					"PUT":             dav(drive, "PUT", w.dir+"/a.txt", faultContent),
					"PUT of more":     dav(drive, "PUT", w.dir+"/more.txt", faultContent),
					"LOCK of nothing": dav(drive, "LOCK", w.dir+"/locked.txt", lockBody),
				} {
					wantDAVStatus(t, name+" by WebDAV, while the store is down", r, 503)
				}
				dav(drive, "PROPFIND", w.dir, nil, "Depth", "1").OK(207)
				w.checkAccounting(t)
				w.l.Clock.Advance(30 * time.Second)
			}
			w.key.Delete("/api/files/" + doomed).OK(200)
			w.l.Clock.Advance(2 * time.Minute)
			w.l.Sweep() // no store is there to delete from
			wantJSON(t, "objects in the database", queryInt(t, w.l, "SELECT COUNT(*) FROM objects"), rows-1)
			w.checkProbesDegraded(t)

			w.proxy.Restore()
			w.waitForSuccess(t, func() *apptest.Reply { return w.key.Get(w.dir + "/a.txt") })
			wantBody(t, visitor.Get(gateway), faultContent) // the failed request did not use up its token
			wantBody(t, visitor.Get(link), faultContent)
			completeUpload(w.key, whole, etag).OK(200)
			finishParts(w, parts).OK(200)
			completeUpload(w.key, empty, putRaw(w.key, empty, faultContent).OK(200).Text("etag")).OK(200)
			w.checkFolder(t, map[string]string{"a.txt": faultContent, "whole.txt": faultContent,
				"a (1).txt": faultContent, "empty.txt": faultContent})
			w.waitForHealthyProbes(t)
			w.checkNothingLeft(t)
		})
	}
}

// checkWorksWithoutBytes checks the requests that need no bytes.
func (w *faultFixture) checkWorksWithoutBytes(t *testing.T, file string) {
	t.Helper()
	wantJSON(t, "files listed", len(w.listFolder()), 2)
	w.key.Get("/api/files/" + file).OK(200)
	for _, name := range []string{"renamed.txt", "a.txt"} {
		wantJSON(t, "the new name", w.key.Put("/api/files/"+file, M{"name": name}).OK(200).Text("file.name"), name)
	}
	w.key.Post("/api/files/folder", M{"path": w.dir, "name": "inner"}).OK(201)
	for _, target := range []string{w.dir + "/inner", w.dir} { // a move within one provider copies nothing
		w.key.Post("/api/files/"+file+"/move", M{"targetPath": target}).OK(200)
	}
	w.key.Delete("/api/files/" + entryIDOf(w.key, w.dir, "inner")).OK(200)
}

// checkProbesDegraded checks that the probes of each replica report the store as down and answer
// nevertheless.
func (w *faultFixture) checkProbesDegraded(t *testing.T) {
	t.Helper()
	for range w.l.Apps {
		if r := w.key.Get("/api/public/health"); r.Status != 200 || strings.Contains(string(r.Body), `"detail":""`) ||
			!strings.Contains(string(r.Body), "degraded") {
			t.Errorf("while the store is down: %d %s", r.Status, r.Body)
		}
		wantJSON(t, "whether it lives", w.key.Get("/api/public/health/live").Status, 200)
	}
}

// waitForHealthyProbes waits until the probes of every replica report that all is well.
func (w *faultFixture) waitForHealthyProbes(t *testing.T) {
	t.Helper()
	for range w.l.Apps {
		w.waitForSuccess(t, func() *apptest.Reply {
			r := w.key.Get("/api/public/health/ready")
			if !strings.Contains(string(r.Body), `"detail":""`) {
				return &apptest.Reply{Status: 503, Body: r.Body}
			}
			return r
		})
	}
}

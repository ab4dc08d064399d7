package racetest

import (
	"fmt"
	"testing"

	"larder/internal/apptest"
)

// oneToken: of 50 requests with one download token one receives the file (abuse case C84).
func oneToken(t *testing.T, w *world) {
	ann := w.member(t, "ann")
	visitor := w.Client(t)
	id := ann.put(ann.home, "once.txt", "only once")
	for round := range rounds {
		url := ann.Get("/api/files/" + id + "/download").OK(200).Text("url")
		given := 0
		for _, r := range runAtOnce(t, repeat(50, func() *apptest.Reply { return visitor.Fork().Get(url) })...) {
			if r.Status == 200 && string(r.Body) == "only once" {
				given++
				continue
			}
			r.Fails(401, "INVALID_TOKEN")
		}
		if given != 1 {
			t.Errorf("round %d: given out %d times", round, given)
		}
	}
}

// deadTokens: after the file is deleted, its owner is disabled or a rule denies it, a token gives
// no byte. Before that a request receives all bytes or none (abuse case C86).
func deadTokens(t *testing.T, w *world) {
	ben := w.member(t, "ben")
	visitor := w.Client(t)
	const content = "all of it"
	w.admin.In(t).Post("/api/admin/rules", M{"pathPattern": "/home/ben/**", "effect": "allow", "role": "user",
		"permissions": []string{"download"}}).OK(201)
	id := ""
	for _, test := range []struct {
		name   string
		end    func()
		status int
		code   string
		undo   func()
	}{
		{"deleted", func() { ben.Fork().Delete("/api/files/" + id).OK(200) }, 404, "NOT_FOUND", func() { id = "" }},
		{"disabled", func() { w.change(t, "UPDATE users SET status = 'disabled' WHERE username = 'ben'") }, 401,
			"INVALID_TOKEN",
			func() { w.change(t, "UPDATE users SET status = 'active' WHERE username = 'ben'") }},
		{"denied", func() { w.change(t, "UPDATE rules SET effect = 'deny' WHERE path_pattern = '/home/ben/**'") }, 401,
			"INVALID_TOKEN",
			func() { w.change(t, "UPDATE rules SET effect = 'allow' WHERE path_pattern = '/home/ben/**'") }},
	} {
		for round := range rounds {
			if id == "" {
				id = ben.put(ben.home, "dies.txt", content)
			}
			var urls [4]string
			for i := range urls {
				urls[i] = ben.Get("/api/files/" + id + "/download").OK(200).Text("url")
			}
			fetch := func(i int) call { return func() *apptest.Reply { return visitor.Fork().Get(urls[i]) } }
			replies := runAtOnce(t, fetch(0), func() *apptest.Reply { test.end(); return &apptest.Reply{} }, fetch(1))
			for _, i := range []int{0, 2} {
				if r := replies[i]; r.Status != 200 || string(r.Body) != content {
					r.Fails(test.status, test.code)
				}
			}
			for _, r := range runAtOnce(t, fetch(2), fetch(3)) {
				if r.Status != test.status {
					t.Errorf("%s, round %d: status %d: %.200s", test.name, round, r.Status, r.Body)
				}
				r.Fails(test.status, test.code)
			}
			test.undo()
		}
	}
}

// oneCompletion: of 20 requests that complete a session one creates the file, and the others
// receive it in their answer (abuse case C87).
func oneCompletion(t *testing.T, w *world) {
	cleo := w.member(t, "cleo")
	for round := range rounds {
		name := fmt.Sprint("file", round)
		body := cleo.begin(cleo.home, name, "0123456789", "rename")
		ids, fresh := map[string]bool{}, 0
		for _, r := range runAtOnce(t, repeat(20,
			func() *apptest.Reply { return cleo.Fork().Post("/api/files/upload-complete", body) })...) {
			ids[r.OK(200).Text("file.id")] = true
			if r.Value("alreadyCompleted") != true {
				fresh++
			}
		}
		if len(ids) != 1 || fresh != 1 {
			t.Errorf("round %d: %d files, made %d times", round, len(ids), fresh)
		}
		if listed := cleo.listed(t, cleo.home); len(listed) != round+1 || !ids[listed[name]] {
			t.Errorf("round %d: %d files are there", round, len(listed))
		}
		cleo.uses(t, int64(10*(round+1)), int64(round+1))
	}
}

// oneReservation: of 50 uploads that each need 60 % of the quota one begins (abuse case C88).
func oneReservation(t *testing.T, w *world) {
	dora := w.member(t, "dora", M{"maxStorage": 1000})
	for round := range rounds {
		var begun []string
		for _, r := range runAtOnce(t, repeat(50, func() *apptest.Reply {
			return dora.Fork().Post("/api/files/upload-session",
				M{"path": dora.home, "fileName": "large", "fileSize": 600})
		})...) {
			if r.Status == 200 {
				begun = append(begun, r.Text("sessionId"))
				continue
			}
			r.Fails(413, "QUOTA_EXCEEDED")
		}
		if len(begun) != 1 {
			t.Errorf("round %d: %d uploads began", round, len(begun))
		}
		for _, id := range begun {
			dora.Delete("/api/files/upload/multipart/" + id).OK(200)
		}
	}
	dora.uses(t, 0, 0)
}

// twentyKeys: of 40 requests for a key as many succeed as are missing to 20 (abuse case C89).
func twentyKeys(t *testing.T, w *world) {
	emil := w.User(t, "emil")
	for round := range rounds {
		made := 0
		for _, r := range runAtOnce(t, repeat(40, func() *apptest.Reply {
			return emil.Fork().Post("/api/keys/",
				M{"name": "k", "permissions": []string{"read"}, "protocols": []string{"api"}})
		})...) {
			if r.Status == 201 {
				made++
				continue
			}
			r.Fails(403, "FORBIDDEN")
		}
		keys, _ := emil.Get("/api/keys/").OK(200).Value("keys").([]any)
		if made != 20 || len(keys) != 20 {
			t.Errorf("round %d: %d keys were made, %d are there", round, made, len(keys))
		}
		w.change(t, "DELETE FROM api_keys WHERE user_id = (SELECT id FROM users WHERE username = 'emil')")
	}
}

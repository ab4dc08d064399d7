package api_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"larder/internal/apptest"
)

var ruleFields = []string{
	"id", "pathPattern", "effect", "mountId", "role", "userId", "apiKeyId", "permissions", "requirePassword",
	"passwordHash", "allowedIps", "priority", "createdAt", "updatedAt",
}

var adminRuleFields = append(slices.Clone(ruleFields), "username", "keyName")

func newRule(more M) M {
	return M{"pathPattern": "/a/**", "effect": "allow", "role": "user"}.With(more)
}

func TestRules(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		me := callerID(alice)
		key := alice.Post("/api/keys/", newKey(nil)).OK(201).Text("key.id")

		// the rules that a first start makes
		seeded := admin.Get("/api/admin/rules").OK(200)
		wantFields(t, "data", seeded.Object()["data"], "rules", "pagination")
		wantJSON(t, "pagination", seeded.Value("pagination"), M{"limit": 20, "page": 1, "pages": 1, "total": 3})
		found := map[string]bool{}
		for i := range 3 {
			at := fmt.Sprintf("rules.%d.", i)
			wantFields(t, "a rule", seeded.Value(strings.TrimSuffix(at, ".")), adminRuleFields...)
			found[fmt.Sprint(seeded.Value(at+"role"), seeded.Value(at+"pathPattern"), seeded.Value(at+"effect"),
				seeded.Value(at+"permissions"))] = true
		}
		for _, want := range []string{"guest/public/**allow[read download]", "user/public/**allow[read download]",
			"user/uploads/**allow[write]"} {
			if !found[want] {
				t.Errorf("no rule %s among %v", want, found)
			}
		}

		mount := admin.Get("/api/files?path=/").OK(200).Text("mount.id")
		full := admin.Post("/api/admin/rules", newRule(M{
			"mountId": mount, "permissions": []string{"download", "read"}, "requirePassword": true,
			"password": "open sesame", "allowedIps": []string{"10.0.0.0/8", "127.0.0.1", "::ffff:192.0.2.1"},
			"priority": 7,
		})).OK(201)
		wantFields(t, "data", full.Object()["data"], "rule")
		wantFields(t, "rule", full.Value("rule"), adminRuleFields...)
		now := l.Clock.Now().UnixMilli()
		for field, want := range (M{
			"pathPattern": "/a/**", "effect": "allow", "mountId": mount, "role": "user", "userId": nil, "apiKeyId": nil,
			"permissions": []string{"read", "download"}, "requirePassword": true,
			"passwordHash": "******", "allowedIps": []string{"10.0.0.0/8", "127.0.0.1", "192.0.2.1"}, "priority": 7,
			"createdAt": now, "updatedAt": now,
		}) {
			wantJSON(t, field, full.Value("rule."+field), want)
		}
		id := full.Text("rule.id")
		plain := admin.Post("/api/admin/rules", M{"pathPattern": "/b/**", "effect": "deny", "userId": me}).OK(201)
		for field, want := range (M{
			"effect": "deny", "mountId": nil, "role": nil, "userId": me, "apiKeyId": nil, "permissions": []string{},
			"requirePassword": false, "passwordHash": nil, "allowedIps": []string{}, "priority": 0,
		}) {
			wantJSON(t, field, plain.Value("rule."+field), want)
		}
		wantJSON(t, "apiKeyId", admin.Post("/api/admin/rules",
			M{"pathPattern": "/c", "effect": "allow", "apiKeyId": key}).OK(201).Value("rule.apiKeyId"), key)
		wantJSON(t, "empty subjects are ignored",
			admin.Post("/api/admin/rules", newRule(M{"userId": "", "apiKeyId": nil, "mountId": ""})).OK(201).
				Value("rule.userId"), nil)

		list := admin.Get("/api/admin/rules?limit=100").OK(200)
		wantJSON(t, "total", list.Int("pagination.total"), 7)
		for _, secret := range []string{"argon2", "open sesame"} {
			if strings.Contains(string(list.Body), secret) || strings.Contains(string(full.Body), secret) {
				t.Errorf("a rule reveals %s", secret)
			}
		}
		seen := map[string]bool{}
		for page := 1; page <= 4; page++ {
			reply := admin.Get(fmt.Sprintf("/api/admin/rules?limit=2&page=%d", page)).OK(200)
			wantJSON(t, "pages", reply.Int("pagination.pages"), 4)
			rules, _ := reply.Value("rules").([]any)
			for i := range rules {
				seen[reply.Text(fmt.Sprintf("rules.%d.id", i))] = true
			}
		}
		if len(seen) != 7 {
			t.Errorf("4 pages hold %d rules", len(seen))
		}

		l.Clock.Advance(time.Second)
		changed := admin.Put("/api/admin/rules/"+id,
			M{"priority": -3, "effect": "deny", "requirePassword": false, "permissions": []string{},
				"allowedIps": []string{}, "mountId": nil}).OK(200)
		for field, want := range (M{
			"id": id, "pathPattern": "/a/**", "effect": "deny", "role": "user", "mountId": nil,
			"permissions": []string{}, "requirePassword": false, "passwordHash": nil, "allowedIps": []string{},
			"priority":  -3,
			"createdAt": now, "updatedAt": now + 1000,
		}) {
			wantJSON(t, field+" after PUT", changed.Value("rule."+field), want)
		}
		wantJSON(t, "another subject", admin.Put("/api/admin/rules/"+id,
			M{"role": nil, "userId": me}).OK(200).Value("rule.userId"), me)
		wantStatus(t, "a second subject", admin.Put("/api/admin/rules/"+id, M{"role": "guest"}), 400,
			"VALIDATION_ERROR")
		wantStatus(t, "PUT of nothing", admin.Put("/api/admin/rules/"+id, M{}), 200, "")
		for _, none := range []string{unknownID, "x", "%27"} {
			wantStatus(t, "PUT of an unknown id", admin.Put("/api/admin/rules/"+none, M{"priority": 1}), 404,
				"NOT_FOUND")
			wantStatus(t, "DELETE of an unknown id", admin.Delete("/api/admin/rules/"+none), 404, "NOT_FOUND")
		}
		wantJSON(t, "data of DELETE", admin.Delete("/api/admin/rules/" + id).OK(200).Object()["data"], nil)
		wantStatus(t, "DELETE again", admin.Delete("/api/admin/rules/"+id), 404, "NOT_FOUND")
	})
}

func TestRulesRefuse(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	me := callerID(admin)
	for _, row := range []struct {
		name   string
		change M
		status int
	}{
		{"as it is", nil, 201},
		{"no subject", M{"role": nil}, 400},
		{"empty subjects", M{"role": "", "userId": ""}, 400},
		{"two subjects", M{"userId": me}, 400},
		{"three subjects", M{"userId": me, "apiKeyId": "pk_aaaaaaaaaaaaaaaaaaaaaaaa"}, 400},
		{"role unknown", M{"role": "root"}, 400},
		{"role a number", M{"role": 1}, 400},
		{"unknown userId", M{"role": nil, "userId": unknownID}, 400},
		{"unknown apiKeyId", M{"role": nil, "apiKeyId": "pk_aaaaaaaaaaaaaaaaaaaaaaaa"}, 400},
		{"unknown mountId", M{"mountId": unknownID}, 400},
		{"no pattern", M{"pathPattern": nil}, 400},
		{"an empty pattern", M{"pathPattern": ""}, 400},
		{"no leading slash", M{"pathPattern": "public/**"}, 400},
		{"..", M{"pathPattern": "/public/../**"}, 400},
		{"a backslash", M{"pathPattern": `/public\**`}, 400},
		{"a NUL", M{"pathPattern": "/a\u0000"}, 400},
		{"a bracket", M{"pathPattern": "/[ab"}, 400}, // abuse case C33
		{"5,000 bytes", M{"pathPattern": "/" + strings.Repeat("a", 5000)}, 400},
		{"/", M{"pathPattern": "/"}, 201},
		{"/**", M{"pathPattern": "/**"}, 201},
		{"?", M{"pathPattern": "/a?c/*"}, 201},
		{"no effect", M{"effect": nil}, 400},
		{"effect unknown", M{"effect": "maybe"}, 400},
		{"effect in capitals", M{"effect": "ALLOW"}, 400},
		{"permission unknown", M{"permissions": []string{"read", "fly"}}, 400},
		{"permission empty", M{"permissions": []string{""}}, 400},
		{"permissions all", M{"permissions": []string{"read", "write", "update", "delete", "share", "download"}}, 201},
		{"requirePassword without one", M{"requirePassword": true}, 400},
		{"requirePassword with an empty one", M{"requirePassword": true, "password": ""}, 400},
		{"requirePassword on a deny", M{"effect": "deny", "requirePassword": true, "password": "open sesame"}, 400},
		{"a password of 129 characters", M{"requirePassword": true, "password": strings.Repeat("a", 129)}, 400},
		{"a password of 1 MB", M{"requirePassword": true, "password": strings.Repeat("a", 1000000)}, 400},
		{"allowedIps garbage", M{"allowedIps": []string{"garbage"}}, 400},
		{"allowedIps empty", M{"allowedIps": []string{}}, 201},
		{"priority 1.5", M{"priority": 1.5}, 400},
		{"priority negative", M{"priority": -1}, 201},
	} {
		code := map[int]string{400: "VALIDATION_ERROR"}[row.status]
		wantStatus(t, row.name, admin.Post("/api/admin/rules", newRule(row.change)), row.status, code)
	}
	id := admin.Post("/api/admin/rules", newRule(nil)).OK(201).Text("rule.id")
	for name, body := range map[string]M{
		"a pattern": {"pathPattern": "x"}, "an effect": {"effect": "x"},
		"requirePassword without one": {"requirePassword": true}, "permissions": {"permissions": []string{"x"}},
		"no subject": {"role": nil},
	} {
		wantStatus(t, "PUT "+name, admin.Put("/api/admin/rules/"+id, body), 400, "VALIDATION_ERROR")
	}
	wantJSON(t, "no rule was created", admin.Get("/api/admin/rules?limit=100").OK(200).Value("pagination.total").(fmt.Stringer).String(), "11")
}

// A rule applies to the next request, on every replica.
func TestRulesTakeEffectAtOnce(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		admin.Post("/api/files/folder", M{"path": "/", "name": "shared"}).OK(201)
		getFromEachReplica := func(what string, want int) {
			t.Helper()
			for range 2 * len(l.Apps) {
				wantStatus(t, what, alice.Get("/api/files?path=/shared"), want, "")
			}
		}
		getFromEachReplica("before", 403)
		id := admin.Post("/api/admin/rules", M{"pathPattern": "/shared/**", "effect": "allow", "role": "user",
			"permissions": []string{"read"}}).OK(201).Text("rule.id")
		getFromEachReplica("with the rule", 200)
		wantStatus(t, "fields that it does not name",
			alice.Post("/api/files/folder", M{"path": "/shared", "name": "x"}), 403,
			"FORBIDDEN")
		admin.Put("/api/admin/rules/"+id, M{"effect": "deny"}).OK(200)
		getFromEachReplica("turned into a deny", 403)
		admin.Put("/api/admin/rules/"+id, M{"effect": "allow"}).OK(200)
		getFromEachReplica("and back", 200)
		admin.Delete("/api/admin/rules/" + id).OK(200)
		getFromEachReplica("without it", 403)
	})
}

func TestExplainRules(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		me := callerID(alice)
		root := callerID(admin)
		key := alice.Post("/api/keys/", newKey(nil)).OK(201).Text("key.id")
		admin.Post("/api/files/folder", M{"path": "/", "name": "office"}).OK(201)
		rule := func(body M) string { return admin.Post("/api/admin/rules", body).OK(201).Text("rule.id") }
		office := rule(M{"pathPattern": "/office/**", "effect": "allow", "userId": me, "permissions": []string{"read"},
			"allowedIps": []string{"10.0.0.0/8"}})
		locked := rule(M{"pathPattern": "/locked/**", "effect": "allow", "role": "guest",
			"permissions": []string{"read"}, "requirePassword": true, "password": "open sesame"})
		denied := rule(M{"pathPattern": "/home/alice/secret/**", "effect": "deny", "apiKeyId": key})
		alice.Upload("/uploads", "own.txt", []byte("x"))
		admin.Post("/api/files/folder", M{"path": "/home/alice", "name": "gift"}).OK(201)
		public := admin.Get("/api/admin/rules?limit=100").OK(200)
		guestPublic := ""
		for i := range 6 {
			at := fmt.Sprintf("rules.%d.", i)
			if public.Value(at+"role") == "guest" && public.Value(at+"pathPattern") == "/public/**" {
				guestPublic = public.Text(at + "id")
			}
		}
		for _, row := range []struct {
			name          string
			ask           M
			allowed, asks bool
			by            string
		}{
			{"an administrator", M{"path": "/anything/at/all", "permission": "delete", "userId": root}, true, false,
				"administrator"},
			{"a role", M{"path": "/x", "permission": "write", "role": "admin"}, true, false, "administrator"},
			{"another user's entry in the home", M{"path": "/home/alice/gift/x", "permission": "write", "userId": me},
				true, false, "home"},
			{"the home itself", M{"path": "/home/alice", "permission": "read", "userId": me}, true, false, "owner"},
			{"an owner", M{"path": "/uploads/own.txt", "permission": "delete", "userId": me}, true, false, "owner"},
			{"without a subject", M{"path": "/office", "permission": "write", "userId": me}, false, false, "default"},
			{"another's home", M{"path": "/home/alice", "permission": "read", "role": "user"}, false, false, "default"},
			{"a rule", M{"path": "/office/a", "permission": "read", "userId": me, "ip": "10.1.2.3"}, true, false,
				office},
			{"a rule, from a mapped address",
				M{"path": "/office/a", "permission": "read", "userId": me, "ip": "::ffff:10.1.2.3"}, true, false,
				office},
			{"a rule, from another address", M{"path": "/office/a", "permission": "read", "userId": me,
				"ip": "192.0.2.1"},
				false, false, "default"},
			{"a rule, from here", M{"path": "/office/a", "permission": "read", "userId": me}, false, false, "default"},
			{"a visitor", M{"path": "/public/a.png", "permission": "download", "anonymous": true}, true, false,
				guestPublic},
			{"the role guest", M{"path": "/public", "permission": "download", "role": "guest"}, true, false,
				guestPublic},
			{"a visitor writes", M{"path": "/public/a.png", "permission": "write", "anonymous": true}, false, false,
				"default"},
			{"a password", M{"path": "/locked/a", "permission": "read", "anonymous": true}, false, true, locked},
			{"a key within its owner's home", M{"path": "/home/alice/gift", "permission": "read", "apiKeyId": key},
				true, false, "home"},
			{"a key's own rule", M{"path": "/home/alice/secret/x", "permission": "read", "apiKeyId": key}, false, false,
				denied},
			{"its owner", M{"path": "/home/alice/secret/x", "permission": "read", "userId": me}, true, false, "owner"},
			{"a key lacks the permission", M{"path": "/home/alice/gift", "permission": "write", "apiKeyId": key}, false,
				false, "default"},
		} {
			reply := admin.Post("/api/admin/rules/explain", row.ask)
			wantStatus(t, row.name, reply, 200, "")
			if reply.Status != 200 {
				continue
			}
			wantFields(t, row.name, reply.Object()["data"], "allowed", "needsPassword", "decidedBy",
				"trace", "rules", "username")
			wantJSON(t, row.name+": allowed", reply.Value("allowed"), row.allowed)
			wantJSON(t, row.name+": needsPassword", reply.Value("needsPassword"), row.asks)
			wantJSON(t, row.name+": decidedBy", reply.Value("decidedBy"), row.by)
			if id, is := row.ask["userId"]; is {
				wantJSON(t, row.name+": username", reply.Value("username"), map[any]string{me: "alice", root: "admin"}[id])
			}
			trace, isList := reply.Value("trace").([]any)
			if !isList {
				t.Errorf("%s: trace is %v", row.name, reply.Value("trace"))
			}
			matched := false
			for _, step := range trace {
				wantFields(t, row.name+": a step", step, "ruleId", "matched", "code", "reason")
				s, _ := step.(map[string]any)
				if s["reason"] == "" || s["code"] == "" {
					t.Errorf("%s: a step without a reason: %v", row.name, step)
				}
				matched = matched || s["ruleId"] == row.by && s["matched"] == true
			}
			if isRule := len(row.by) > 20; isRule && !matched {
				t.Errorf("%s: the trace %v does not show that %s matched", row.name, trace, row.by)
			}
		}
		for name, bad := range map[string]M{
			"no subject":         {"path": "/a", "permission": "read"},
			"two":                {"path": "/a", "permission": "read", "role": "user", "anonymous": true},
			"no path":            {"permission": "read", "anonymous": true},
			"no permission":      {"path": "/a", "anonymous": true},
			"permission unknown": {"path": "/a", "permission": "fly", "anonymous": true},
			"a relative path":    {"path": "a", "permission": "read", "anonymous": true},
			"..":                 {"path": "/a/../b", "permission": "read", "anonymous": true},
			"anonymous false":    {"path": "/a", "permission": "read", "anonymous": false},
			"ip":                 {"path": "/a", "permission": "read", "anonymous": true, "ip": "x"},
			"nobody":             {"path": "/a", "permission": "read", "userId": "nobody"},
			"no key":             {"path": "/a", "permission": "read", "apiKeyId": "pk_aaaaaaaaaaaaaaaaaaaaaaaa"},
			"role":               {"path": "/a", "permission": "read", "role": "root"},
		} {
			wantStatus(t, "explain: "+name, admin.Post("/api/admin/rules/explain", bad), 400, "VALIDATION_ERROR")
		}
	})
}

// Two administrators who change different fields of a rule concurrently do not undo each other's
// change.
func TestConcurrentRuleChanges(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		id := admin.Post("/api/admin/rules", M{"pathPattern": "/a/**", "effect": "allow", "role": "user"}).OK(201).
			Text("rule.id")
		for round := range 20 {
			pattern := fmt.Sprintf("/a%d/**", round)
			var both sync.WaitGroup
			for _, change := range []M{{"priority": round + 1}, {"pathPattern": pattern}} {
				one := admin.Fork()
				both.Go(func() {
					if r := one.Put("/api/admin/rules/"+id, change); r.Status != 200 {
						t.Errorf("%v: %d %s", change, r.Status, r.Body)
					}
				})
			}
			both.Wait()
			after := admin.Put("/api/admin/rules/"+id, M{}).OK(200)
			if after.Text("rule.pathPattern") != pattern || after.Int("rule.priority") != int64(round+1) {
				t.Fatalf("round %d: %s", round, after.Body)
			}
		}
	})
}

// The endpoint lists rules in the order of evaluation, names the subject of each rule, and filters.
func TestRuleListOrderAndFilters(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, alice := l.Admin(t), l.User(t, "alice")
		me := callerID(alice)
		key := alice.Post("/api/keys/", newKey(M{"name": "camera"})).OK(201).Text("key.id")
		add := func(pattern string, more M) {
			t.Helper()
			admin.Post("/api/admin/rules", M{"pathPattern": pattern, "effect": "allow"}.With(more)).OK(201)
			l.Clock.Advance(time.Millisecond)
		}
		add("/team/**", M{"role": "user"})
		add("/team/**", M{"role": "user", "effect": "deny"})
		add("/team/deep/**", M{"role": "user"})
		add("/team/**", M{"userId": me})
		add("/team/**", M{"apiKeyId": key})
		add("/team/*", M{"role": "admin", "priority": 1})
		list := func(query string) string {
			t.Helper()
			r := admin.In(t).Get("/api/admin/rules?search=TEAM" + query).OK(200)
			rules, _ := r.Value("rules").([]any)
			var out []string
			for _, one := range rules {
				o := one.(map[string]any)
				out = append(out, fmt.Sprint(o["pathPattern"], " ", o["effect"], " ", o["role"], " ", o["username"], " ",
					o["keyName"]))
			}
			return strings.Join(out, "; ")
		}
		const (
			forAdmins = "/team/* allow admin <nil> <nil>"
			forKey    = "/team/** allow <nil> alice camera"
			forAlice  = "/team/** allow <nil> alice <nil>"
			deep      = "/team/deep/** allow user <nil> <nil>"
			denied    = "/team/** deny user <nil> <nil>"
			allowed   = "/team/** allow user <nil> <nil>"
		)
		for query, want := range map[string][]string{
			"":                          {forAdmins, forKey, forAlice, deep, denied, allowed},
			"&limit=2&page=2":           {forAlice, deep},
			"&limit=2&page=9":           nil,
			"&effect=deny":              {denied},
			"&subject=user":             {deep, denied, allowed},
			"&subject=account":          {forAlice},
			"&subject=key":              {forKey},
			"&subject=guest":            nil,
			"&userId=" + me:             {forAlice},
			"&effect=allow&subject=key": {forKey},
		} {
			if got := list(query); got != strings.Join(want, "; ") {
				t.Errorf("%s: %s\nwant %s", query, got, strings.Join(want, "; "))
			}
		}
		// a path finds the rules that cover it
		covering := admin.Get("/api/admin/rules?search=/team/deep/file.txt").OK(200)
		wantJSON(t, "rules that cover a path", covering.Int("pagination.total"), 5)
		wantJSON(t, "rules for another path", admin.Get("/api/admin/rules?search=/other").OK(200).
			Int("pagination.total"), 0)
		for _, bad := range []string{"effect=maybe", "subject=root", "search=" + strings.Repeat("x", 4097)} {
			admin.Get("/api/admin/rules?"+bad).Fails(400, "VALIDATION_ERROR")
		}
		// a deleted account leaves no name
		admin.Delete("/api/admin/users/" + me).OK(200)
		if got := list("&userId=" + me); strings.Contains(got, "alice") {
			t.Errorf("the rule of a deleted account: %s", got)
		}
	})
}

// A refused rule names the field at fault.
func TestRuleRefusalsNameTheField(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	admin := l.Admin(t)
	for _, row := range []struct {
		change M
		field  string
	}{
		{M{"pathPattern": "public/**"}, "pathPattern"},
		{M{"role": nil, "userId": unknownID}, "userId"},
		{M{"role": nil, "apiKeyId": "pk_aaaaaaaaaaaaaaaaaaaaaaaa"}, "apiKeyId"},
		{M{"mountId": unknownID}, "mountId"},
		{M{"permissions": []string{"fly"}}, "permissions"},
		{M{"allowedIps": []string{"garbage"}}, "allowedIps"},
		{M{"requirePassword": true}, "password"},
		{M{"requirePassword": true, "password": strings.Repeat("a", 129)}, "password"},
	} {
		r := admin.Post("/api/admin/rules", newRule(row.change))
		wantStatus(t, row.field, r, 400, "VALIDATION_ERROR")
		refused, _ := r.Object()["error"].(map[string]any)
		wantJSON(t, "the field of "+fmt.Sprint(row.change), refused["field"], row.field)
	}
}

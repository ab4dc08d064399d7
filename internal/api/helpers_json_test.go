package api_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// M is a JSON object.
type M = apptest.M

// wantFields fails the test unless value is an object of exactly the named fields.
func wantFields(t testing.TB, what string, value any, names ...string) {
	t.Helper()
	o, ok := value.(map[string]any)
	if !ok {
		t.Errorf("%s is %v, not an object", what, value)
		return
	}
	have := slices.Sorted(maps.Keys(o))
	slices.Sort(names)
	if !slices.Equal(have, names) {
		t.Errorf("%s has the fields %v, want %v", what, have, names)
	}
}

// wantFieldsOf fails the test when the object at path below data lacks one of the named fields. The
// object may hold others too, unlike with wantFields.
func wantFieldsOf(t *testing.T, r *apptest.Reply, path string, names ...string) {
	t.Helper()
	object, ok := r.Value(path).(map[string]any)
	if !ok {
		t.Fatalf("no object at %s: %s", path, r.Body)
	}
	for _, name := range names {
		if _, there := object[name]; !there {
			t.Errorf("%s has no %s: %s", path, name, r.Body)
		}
	}
}

// wantJSON fails the test unless two values have the same JSON.
func wantJSON(t testing.TB, what string, have, want any) {
	t.Helper()
	h, err1 := json.Marshal(have)
	w, err2 := json.Marshal(want)
	if err1 != nil || err2 != nil || !bytes.Equal(h, w) {
		t.Errorf("%s is %s, want %s", what, h, w)
	}
}

// wantStatus fails the test unless the answer has that status and, if code is given, that error
// code. The test goes on, while Reply.OK and Reply.Fails stop it.
func wantStatus(t testing.TB, what string, r *apptest.Reply, want int, code string) {
	t.Helper()
	if r.Err != nil || r.Status != want {
		t.Errorf("%s: status %d, want %d %s: %.300s (%v)", what, r.Status, want, code, r.Body, r.Err)
		return
	}
	if code == "" || len(r.Body) == 0 {
		return
	}
	if !strings.Contains(string(r.Body), `"code":"`+code+`"`) {
		t.Errorf("%s: %.300s, want the code %s", what, r.Body, code)
	}
}

// errorMessage returns the message of an error.
func errorMessage(t testing.TB, r *apptest.Reply) string {
	t.Helper()
	var envelope struct{ Error struct{ Message string } }
	if err := json.Unmarshal(r.Body, &envelope); err != nil {
		t.Fatalf("%v in %s", err, r.Body)
	}
	return envelope.Error.Message
}

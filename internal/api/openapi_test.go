package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"larder/internal/apptest"
)

// servedDocument loads the document that the service returns.
func servedDocument(t *testing.T, l *apptest.Larder) *openapi3.T {
	t.Helper()
	reply := l.Client(t).Get("/api/openapi.json")
	if reply.Status != 200 || !strings.HasPrefix(reply.Header.Get("Content-Type"), "application/json") {
		t.Fatalf("status %d, %s", reply.Status, reply.Header.Get("Content-Type"))
	}
	document, err := openapi3.NewLoader().LoadFromData(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

func TestOpenAPIDocument(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	document := servedDocument(t, l)
	if !strings.HasPrefix(document.OpenAPI, "3.1.") {
		t.Errorf("version %s", document.OpenAPI)
	}
	if err := document.Validate(context.Background(), openapi3.IsOpenAPI31OrLater(),
		openapi3.EnableMultiError()); err != nil {
		t.Error(err)
	}

	// every route is in it and nothing else; additions are marked
	var have, want []string
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			have = append(have, fmt.Sprint(method, " ", path, " addition: ",
				operation.Extensions["x-addition"] == true))
		}
	}
	for _, row := range matrix {
		if row.method != "OPTIONS" { // browsers send preflights on their own
			want = append(want, fmt.Sprint(row.method, " ", row.pattern, " addition: ", row.addition))
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	for _, line := range want {
		if !slices.Contains(have, line) {
			t.Errorf("the document lacks %s", line)
		}
	}
	for _, line := range have {
		if !slices.Contains(want, line) {
			t.Errorf("the document contains %s", line)
		}
	}

	for _, row := range matrix {
		item := document.Paths.Find(row.pattern)
		if item == nil || item.GetOperation(row.method) == nil {
			continue
		}
		operation, what := item.GetOperation(row.method), row.method+" "+row.pattern
		if operation.Summary == "" {
			t.Errorf("%s has no summary", what)
		}
		var schemes []string
		if operation.Security != nil {
			for _, requirement := range *operation.Security {
				for name := range requirement {
					schemes = append(schemes, name)
				}
			}
		}
		slices.Sort(schemes)
		expected := map[string]string{noAuth: "", optionalAuth: "", sessionAuth: "session", adminAuth: "session",
			sessionOrKeyAuth: "key session", freeModeAuth: "freeSession", uploadKeyAuth: "key"}[row.auth]
		if row.auth != optionalAuth && strings.Join(schemes, " ") != expected {
			t.Errorf("%s documents the security schemes %v, want %s", what, schemes, expected)
		}
		_, body := row.request(ownedItems{})
		if hasBody := operation.RequestBody != nil; hasBody != (body != nil) {
			t.Errorf("%s has a body: %v", what, hasBody)
		} else if hasBody && !operation.RequestBody.Value.Required {
			t.Errorf("%s: the body is not required", what)
		}
		if row.auth == sessionAuth || row.auth == adminAuth || row.auth == sessionOrKeyAuth ||
			row.auth == freeModeAuth {
			if operation.Responses.Value("401") == nil {
				t.Errorf("%s does not document 401", what)
			}
		}
		if strings.HasPrefix(row.pattern, "/api/gateway/") || row.pattern == "/api/i/{link}" ||
			row.method+" "+row.pattern == "GET /api/files/{id}/download" {
			if operation.Responses.Value("302") == nil {
				t.Errorf("%s does not document 302", what)
			}
		}
		if operation.Responses.Value("429") == nil {
			t.Errorf("%s does not document 429", what)
		}
	}
}

// The service's real requests and answers match the document.
func TestOpenAPIHoldsForRealReplies(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback)
	document := servedDocument(t, l)
	f := newMatrixFixture(t, l)
	checked := 0
	for _, row := range matrix {
		if row.method == "OPTIONS" {
			continue
		}
		operation := document.Paths.Find(row.pattern).GetOperation(row.method)
		for _, who := range []string{"owner", "administrator", "another user", "anonymous", "key write", "key read"} {
			f.serial++
			o := ownedItems{name: fmt.Sprint("o", f.serial), bucket: f.bucket}
			if row.needsItems() {
				o = f.newItems("o", row)
			}
			path, body := row.request(o)
			var header []string
			switch b := body.(type) {
			case formBody:
				bytes, contentType := apptest.Form(nil, "file", "a.txt", []byte("x"))
				body, header = bytes, []string{"Content-Type", contentType}
			case M:
				what := fmt.Sprintf("the request of %s %s", row.method, row.pattern)
				checkConforms(t, what, operation.RequestBody.Value.Content.Get("application/json"), b)
			}
			reply := send(f.clients[who].Fork(), row.method, path, body, header...)
			what := fmt.Sprintf("%s %s by %s: status %d", row.method, row.pattern, who, reply.Status)
			response := operation.Responses.Value(fmt.Sprint(reply.Status))
			if response == nil {
				t.Errorf("%s is not in the document: %.200s", what, reply.Body)
				continue
			}
			if !strings.HasPrefix(reply.Header.Get("Content-Type"), "application/json") {
				continue
			}
			var value any
			if err := json.Unmarshal(reply.Body, &value); err != nil {
				t.Fatal(err)
			}
			checkConforms(t, what, response.Value.Content.Get("application/json"), value)
			checked++
		}
	}
	if checked < 150 {
		t.Errorf("only %d replies were checked", checked)
	}
}

// checkConforms validates a value against the schema of a media type, by JSON Schema 2020-12 as
// OpenAPI 3.1 defines.
func checkConforms(t *testing.T, what string, media *openapi3.MediaType, value any) {
	t.Helper()
	if media == nil || media.Schema == nil {
		t.Errorf("%s: there is no schema", what)
		return
	}
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	if err == nil {
		err = media.Schema.Value.VisitJSON(value, openapi3.EnableJSONSchema2020())
	}
	if err != nil {
		t.Errorf("%s: %.600v\n%.300s", what, err, text)
	}
}

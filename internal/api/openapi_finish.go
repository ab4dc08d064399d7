package api

import (
	"encoding/json"
	"slices"
	"strings"
)

// finish adds to the generated OpenAPI document in text what the structs can't express: which
// operations go beyond the specification, that bodies are required, and the bodies that streams
// accept. It removes null where it does not occur although Go's pointers and slices allow it.
func finish(text []byte, routes []route) ([]byte, error) {
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	paths := child(document, "paths")
	child(document, "components")["parameters"] = map[string]any{accountHeader: accountParameter}
	for _, rt := range routes {
		operation := child(child(paths, rt.pattern), strings.ToLower(rt.method))
		if operation == nil {
			continue
		}
		if rt.readsSession() {
			parameters, _ := operation["parameters"].([]any)
			operation["parameters"] = append(parameters,
				map[string]any{"$ref": "#/components/parameters/" + accountHeader})
		}
		if rt.addition {
			operation["x-addition"] = true
		}
		if rt.bodies != nil {
			operation["requestBody"] = map[string]any{"content": rt.bodies}
		}
		if body := child(operation, "requestBody"); body != nil {
			body["required"] = true
		}
	}
	for name, schema := range child(child(document, "components"), "schemas") {
		if object, ok := schema.(map[string]any); ok {
			withoutNull(object, strings.HasSuffix(name, "Input"))
		}
	}
	return json.Marshal(document)
}

// child returns the object in a field of a JSON object, nil when there is none.
func child(object map[string]any, name string) map[string]any {
	inner, _ := object[name].(map[string]any)
	return inner
}

// withoutNull removes null from the types of fields in a schema: in a request from its required
// fields, where null counts as missing, and in a reply from its lists, which are never null.
func withoutNull(schema map[string]any, request bool) {
	required, _ := schema["required"].([]any)
	for name, property := range child(schema, "properties") {
		field, _ := property.(map[string]any)
		kinds, _ := field["type"].([]any)
		if len(kinds) != 2 {
			continue
		}
		if request && slices.Contains(required, any(name)) || !request && slices.Contains(kinds, any("array")) {
			kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind any) bool { return kind == "null" })
			field["type"] = kinds[0]
		}
	}
}

// accountParameter describes accountHeader.
var accountParameter = map[string]any{
	"name": accountHeader, "in": "header", "x-addition": true, "schema": map[string]any{"type": "string"},
	"description": "The id of the account that the client acts for. If the session cookie is the credential and " +
		"belongs to another account, the answer is OPERATION_FAILED, this header of the answer names that account, " +
		"and nothing is done. API keys and requests without a valid session are not checked.",
}

// Bodies other than JSON, by media type.
var (
	rawBody    = map[string]any{"application/octet-stream": map[string]any{"schema": map[string]any{}}}
	uploadBody = map[string]any{
		"multipart/form-data": map[string]any{"schema": map[string]any{
			"type":     "object",
			"required": []string{"file"},
			"properties": map[string]any{
				"path": map[string]any{"type": "string",
					"description": "Relative to the key's upload root, or absolute inside it."},
				"file": map[string]any{"type": "string", "contentMediaType": "application/octet-stream"},
			},
		}},
		"*/*": map[string]any{"schema": map[string]any{}},
	}
)

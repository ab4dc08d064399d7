package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"

	"larder/internal/fault"
)

// Document returns the OpenAPI 3.1 document of the interface, as /api/openapi.json serves it.
func Document() ([]byte, error) {
	a := &API{}
	a.routes = a.routeTable()
	return a.document()
}

// document generates the OpenAPI 3.1 document from the route table and from the input and output
// structs of the handlers.
func (a *API) document() ([]byte, error) {
	reflector := openapi31.NewReflector()
	reflector.DefaultOptions = append(reflector.DefaultOptions,
		func(rc *jsonschema.ReflectContext) { rc.EnvelopNullability = true })
	reflector.Spec.Info.WithTitle("Larder").WithVersion("1").
		WithDescription("Image hosting and file storage. Paths are relative to the base address; " +
			"JSON answers use one success and one error envelope. Operations marked x-addition go beyond the " +
			"service's specification.")
	reflector.Spec.SetHTTPBearerTokenSecurity("key", "pk_….sk_…", "An API key: <key id>.<secret>")
	reflector.Spec.SetAPIKeySecurity("session", SessionCookie, openapi.InCookie,
		"The login cookie; writes also send X-CSRF-Token.")
	reflector.Spec.SetAPIKeySecurity("freeSession", FreeCookie, openapi.InCookie,
		"The cookie of a free-mode session; writes also send its csrfToken in X-CSRF-Token.")
	for i := range a.routes {
		rt := &a.routes[i]
		if rt.method == http.MethodOptions {
			continue
		}
		if err := describe(reflector, rt); err != nil {
			return nil, fmt.Errorf("describe %s %s: %w", rt.method, rt.pattern, err)
		}
	}
	text, err := reflector.Spec.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return finish(text, a.routes)
}

// describe adds one route to the OpenAPI document: its summary, credential, input, answers and
// errors.
func describe(reflector *openapi31.Reflector, rt *route) error {
	op, err := reflector.NewOperationContext(rt.method, rt.pattern)
	if err != nil {
		return err
	}
	op.SetSummary(rt.summary)
	op.SetTags(strings.SplitN(strings.TrimPrefix(rt.pattern, "/api/"), "/", 2)[0])
	switch rt.auth {
	case sessionAuth, adminAuth:
		op.AddSecurity("session")
	case sessionOrKeyAuth:
		op.AddSecurity("session")
		op.AddSecurity("key")
	case freeModeAuth:
		op.AddSecurity("freeSession")
	case uploadKeyAuth:
		op.AddSecurity("key")
	}
	if rt.input != nil && rt.input.NumField() > 0 {
		op.AddReqStructure(reflect.New(rt.input).Interface())
	}
	if rt.input == nil {
		addPathParameters(op, rt.pattern)
	}
	success := func(cu *openapi.ContentUnit) { cu.HTTPStatus = rt.status }
	switch {
	case rt.output != nil:
		op.AddRespStructure(envelopeOf(rt.output), success)
	case rt.reply != nil:
		op.AddRespStructure(reflect.New(rt.reply).Interface(), success)
	default:
		op.AddRespStructure(new(string), success, func(cu *openapi.ContentUnit) { cu.ContentType = rt.mediaType })
	}
	if rt.redirect != "" {
		op.AddRespStructure(nil, func(cu *openapi.ContentUnit) {
			cu.HTTPStatus = http.StatusFound
			cu.Description = rt.redirect
		})
	}
	for status, codes := range rt.failures() {
		op.AddRespStructure(new(failure), func(cu *openapi.ContentUnit) {
			cu.HTTPStatus = status
			cu.Description = strings.Join(codes, ", ")
		})
	}
	return reflector.AddOperation(op)
}

// addPathParameters declares the {name} parameters of a stream route, which has no input struct, by
// a struct type that it makes at run time.
func addPathParameters(op openapi.OperationContext, path string) {
	var fields []reflect.StructField
	for _, segment := range strings.Split(path, "/") {
		if name, found := strings.CutPrefix(segment, "{"); found {
			name = strings.TrimSuffix(name, "}")
			fields = append(fields, reflect.StructField{Name: strings.ToUpper(name[:1]) + name[1:],
				Type: reflect.TypeFor[string](), Tag: reflect.StructTag(`path:"` + name + `"`)})
		}
	}
	if fields != nil {
		op.AddReqStructure(reflect.New(reflect.StructOf(fields)).Interface())
	}
}

// envelopeOf returns a pointer to the success envelope whose data has a type, for the OpenAPI
// generator, which reads types.
func envelopeOf(data reflect.Type) any {
	envelope := reflect.TypeFor[envelope[any]]()
	var fields []reflect.StructField
	for i := range envelope.NumField() {
		field := envelope.Field(i)
		if field.Name == "Data" {
			field.Type = data
		}
		fields = append(fields, field)
	}
	return reflect.New(reflect.StructOf(fields)).Interface()
}

// failures returns the error codes that a route can answer, by HTTP status: those of the handler
// and those of the steps before it.
func (r *route) failures() map[int][]string {
	kinds := append([]fault.Kind{}, r.faults...)
	kinds = append(kinds, fault.RateLimited, fault.Internal)
	if r.readsSession() {
		kinds = append(kinds, fault.Conflict)
	}
	switch r.auth {
	case sessionAuth, sessionOrKeyAuth, adminAuth:
		kinds = append(kinds, fault.Unauthorized, fault.InvalidToken, fault.SessionRevoked, fault.RoleChanged,
			fault.UserDisabled, fault.Forbidden)
		if r.method != http.MethodGet {
			kinds = append(kinds, fault.InvalidCSRF)
		}
	case freeModeAuth:
		kinds = append(kinds, fault.Unauthorized, fault.InvalidToken, fault.Forbidden)
		if r.method != http.MethodGet {
			kinds = append(kinds, fault.InvalidCSRF)
		}
	case uploadKeyAuth:
		kinds = append(kinds, fault.Unauthorized, fault.Invalid)
	case optionalAuth:
		kinds = append(kinds, fault.Unauthorized, fault.InvalidToken)
	}
	if r.input != nil && r.input.NumField() > 0 {
		kinds = append(kinds, fault.Invalid)
	}
	if r.jsonBody {
		kinds = append(kinds, fault.TooLarge)
	}
	byStatus := map[int][]string{}
	for _, kind := range kinds {
		known := codes[kind]
		if !slices.Contains(byStatus[known.status], known.code) {
			byStatus[known.status] = append(byStatus[known.status], known.code)
		}
	}
	return byStatus
}

// JSONSchemaBytes describes a nullable field to the OpenAPI generator: the type of its value, or
// null.
func (nullable[T]) JSONSchemaBytes() ([]byte, error) {
	kind := "string"
	if reflect.TypeFor[T]().Kind() == reflect.Int64 {
		kind = "integer"
	}
	return json.Marshal(map[string]any{"type": []string{kind, "null"}})
}

// JSONSchemaBytes describes to the OpenAPI generator the null data of endpoints without a payload.
func (none) JSONSchemaBytes() ([]byte, error) { return []byte(`{"type":"null"}`), nil }

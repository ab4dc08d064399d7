package api

import (
	"reflect"

	"larder/internal/fault"
	"larder/internal/files"
)

// get, post, put, patch, del and options give a route its method and its path, such as
// /api/files/{id}.
func get(pattern string, r route) route     { return r.withPattern("GET", pattern) }
func post(pattern string, r route) route    { return r.withPattern("POST", pattern) }
func put(pattern string, r route) route     { return r.withPattern("PUT", pattern) }
func patch(pattern string, r route) route   { return r.withPattern("PATCH", pattern) }
func del(pattern string, r route) route     { return r.withPattern("DELETE", pattern) }
func options(pattern string, r route) route { return r.withPattern("OPTIONS", pattern) }

// withPattern sets the method and the path; a {name} in the path stands for a parameter.
func (r route) withPattern(method, pattern string) route {
	r.method, r.pattern = method, pattern
	return r
}

// withAuth sets which credential the route accepts.
func (r route) withAuth(w authMode) route { r.auth = w; return r }

// withLimit sets the class of rate limit that the route counts against, defaultLimit if it is not
// called.
func (r route) withLimit(b limitClass) route     { r.limit = b; return r }
func (r route) withSummary(summary string) route { r.summary = summary; return r }

// withFaults sets the handler's faults for the OpenAPI document.
func (r route) withFaults(faults ...fault.Kind) route { r.faults = faults; return r }
func (r route) withRedirect(to string) route          { r.redirect = to; return r }

// withReply sets the JSON answer of a stream route for the document, by a value of its type.
func (r route) withReply(json any) route { r.reply = reflect.TypeOf(json); return r }

// withInput sets the parameters of a stream route for the document, by a value of their struct.
func (r route) withInput(input any) route { r.input = reflect.TypeOf(input); return r }

// withFind sets the function by which lookUp finds the entry that the route serves.
func (r route) withFind(find func(*call) (*files.FoundEntry, error)) route {
	r.find = find
	return r
}

// asAddition marks a route that goes beyond the specification, in the OpenAPI document.
func (r route) asAddition() route { r.addition = true; return r }

// withCompression lets the answers be compressed; compress.go says of which routes.
func (r route) withCompression() route { r.compressed = true; return r }

// asProbe marks a health probe, which is called all the time: neither logged nor counted.
func (r route) asProbe() route { r.probe = true; return r }

// asReadOnly marks a POST that changes nothing: it is no change by an administrator in the log.
func (r route) asReadOnly() route { r.readOnly = true; return r }

// asFreeMode refuses the route while free mode is switched off.
func (r route) asFreeMode() route { r.freeMode = true; return r }

// withStatus sets the status of success in the OpenAPI document.
func (r route) withStatus(status int) route {
	r.status = status
	return r
}

// withRawBody says in the document that the body is bytes of any type.
func (r route) withRawBody() route    { r.bodies = rawBody; return r }
func (r route) withUploadBody() route { r.bodies = uploadBody; return r }

package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"larder/internal/fault"
)

// router finds the route for a path below /api/. The standard mux refuses this interface: it
// considers /api/files/jobs/{jobId} and /api/files/{id}/download a conflict. In this router a
// literal segment precedes a parameter, from left to right.
type router struct{ patterns []pattern }

// pattern is one path with its methods.
type pattern struct {
	segments   []string // "{name}" for a parameter
	methods    map[string]*route
	notAllowed route // answers the other methods
}

// newRouter builds the router of the route table. It fails when a method and pattern occur twice.
func newRouter(routes []route) (*router, error) {
	rt := &router{}
	for i := range routes {
		segments := strings.Split(strings.Trim(routes[i].pattern, "/"), "/")
		at := slices.IndexFunc(rt.patterns, func(p pattern) bool { return slices.Equal(p.segments, segments) })
		if at < 0 {
			at = len(rt.patterns)
			rt.patterns = append(rt.patterns, pattern{segments: segments, methods: map[string]*route{}})
		}
		if rt.patterns[at].methods[routes[i].method] != nil {
			return nil, fmt.Errorf("route %s %s is there twice", routes[i].method, routes[i].pattern)
		}
		rt.patterns[at].methods[routes[i].method] = &routes[i]
	}
	for i := range rt.patterns {
		rt.patterns[i].notAllowed = notAllowedRoute(rt.patterns[i].methods)
		rt.patterns[i].notAllowed.name = "/" + strings.Join(rt.patterns[i].segments, "/")
	}
	slices.SortStableFunc(rt.patterns, func(a, b pattern) int {
		return slices.CompareFunc(a.segments, b.segments, literalFirst)
	})
	return rt, nil
}

// literalFirst compares two segments of patterns for sorting: a literal before a parameter; two
// literals, or two parameters, are equal.
func literalFirst(a, b string) int {
	switch {
	case isParameter(a) == isParameter(b):
		return 0
	case isParameter(a):
		return 1
	}
	return -1
}

// isParameter reports whether a segment of a pattern is a {name}, which any segment of a path
// matches.
func isParameter(segment string) bool { return segment[0] == '{' }

// notAllowedRoute returns the route that answers the other methods of a path, which has methods:
// 405 with the header Allow.
func notAllowedRoute(methods map[string]*route) route {
	var allowed []string
	for method := range methods {
		allowed = append(allowed, method)
		if method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	slices.Sort(allowed)
	return route{auth: noAuth, handler: func(c *call) error {
		c.w.Header().Set("Allow", strings.Join(allowed, ", "))
		return fault.Newf(fault.MethodNotAllowed, "The method %s is not allowed here.", c.r.Method)
	}}
}

var unknownRoute = route{name: "/api/", auth: noAuth, handler: func(*call) error {
	return fault.New(fault.NotFound, "There is no such endpoint.")
}}

// find returns the route for the escaped path and the method of a request, and stores the path's
// parameters, decoded once, in the request. For an unknown path it returns unknownRoute, for
// another method the pattern's notAllowed. A trailing slash is optional if the specification writes
// one. Empty segments and dot segments match nothing.
func (rt *router) find(r *http.Request) *route {
	segments, err := decodeSegments(strings.TrimPrefix(r.URL.EscapedPath(), "/"))
	if err != nil {
		return &unknownRoute
	}
	slash := segments[len(segments)-1] == ""
	if slash {
		segments = segments[:len(segments)-1]
	}
	for i := range rt.patterns {
		p := &rt.patterns[i]
		if !p.match(segments) {
			continue
		}
		found := p.methods[r.Method]
		if r.Method == http.MethodHead && found == nil {
			found = p.methods[http.MethodGet]
		}
		if found == nil {
			found = &p.notAllowed
		}
		if slash && !p.endsInSlash() {
			return &unknownRoute
		}
		for at, segment := range p.segments {
			if isParameter(segment) {
				r.SetPathValue(segment[1:len(segment)-1], sanitizeID(segments[at]))
			}
		}
		return found
	}
	return &unknownRoute
}

// sanitizeID replaces the characters of an id from the path that no database accepts as text, so
// that an id with a NUL or an invalid character names nothing instead of causing an error of the
// database.
func sanitizeID(id string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(id, "\uFFFD"), "\x00", "\uFFFD")
}

// match reports whether the decoded segments of a path fit the pattern: literals are equal, and
// parameters are not empty and no dot segments.
func (p *pattern) match(segments []string) bool {
	return slices.EqualFunc(p.segments, segments, func(want, have string) bool {
		if isParameter(want) {
			return have != "" && have != "." && have != ".."
		}
		return want == have
	})
}

// endsInSlash reports whether the specification writes the path with a trailing slash; find then
// accepts it with and without.
func (p *pattern) endsInSlash() bool {
	for _, r := range p.methods {
		return strings.HasSuffix(r.pattern, "/")
	}
	return false
}

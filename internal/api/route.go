package api

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/site"
)

// route is one line of the route table.
type route struct {
	method   string
	pattern  string // below /api/, with {name} for a parameter; "" for routes outside the table
	name     string // of a route outside the table, for metrics
	auth     authMode
	limit    limitClass
	addition bool // not in the specification: x-addition in the OpenAPI document
	probe    bool // a health probe, which is not counted as a request
	freeMode bool // refused while free mode is switched off
	readOnly bool // changes nothing although it is no GET
	// its answers may be compressed, as they hold no secret; see compress.go
	compressed bool
	summary    string
	status     int // of success
	// the faults that the specification lists, besides those of the credential, the limit and the
	// body
	faults        []fault.Kind
	input, output reflect.Type   // nil for streams, except for the input of some
	jsonBody      bool           // a JSON body is read
	mediaType     string         // type of a streamed answer, for the document
	redirect      string         // target of a 302, for the document; "" for none
	bodies        map[string]any // streamed bodies by media type, for the document
	reply         reflect.Type   // JSON answer of a stream, for the document
	handler       func(c *call) error
	// finds the entry that the handler serves, nil when there is none to find; see lookUp
	find func(c *call) (*files.FoundEntry, error)
}

// readsSession reports whether the session cookie can be the credential of the route. Such a route
// also reads accountHeader.
func (r *route) readsSession() bool {
	switch r.auth {
	case optionalAuth, sessionAuth, sessionOrKeyAuth, adminAuth:
		return true
	}
	return r.pattern == logoutPath
}

// jsonRoute makes a route from a handler that takes an input struct and returns an output struct.
// The route binds the input from path, query and body by the field tags; the output becomes the
// data of the success envelope, sent with status.
func jsonRoute[In, Out any](status int, fn func(c *call, in In) (Out, error)) route {
	in, out := reflect.TypeFor[In](), reflect.TypeFor[Out]()
	binding := bindingOf(in)
	return route{
		status: status, input: in, output: out, jsonBody: binding.hasBody,
		handler: func(c *call) error {
			var input In
			if err := binding.bind(c, reflect.ValueOf(&input).Elem()); err != nil {
				return err
			}
			output, err := fn(c, input)
			if err != nil {
				return err
			}
			c.answer(status, output)
			return nil
		},
	}
}

// streamRoute makes a route from a handler that writes the answer itself. media is the answer's
// type in the OpenAPI document.
func streamRoute(media string, fn func(c *call) error) route {
	return route{status: http.StatusOK, mediaType: media, handler: fn}
}

// run executes a request on a route: the steps of serve. It writes the error that they return, if
// any.
func (a *API) run(c *call, rt *route) {
	c.route = rt
	if rt.compressed {
		c.w.Header().Set("Vary", "Accept-Encoding")
	}
	if err := c.serve(); err != nil {
		c.fail(err)
	}
}

// serve identifies the caller, counts the request against its rate limit, refuses requests from
// other sites, and calls the route's handler. A missing or wrong credential is answered after the
// limit, so that guesses are limited. It returns the error for the answer.
func (c *call) serve() error {
	if c.route.auth == uploadKeyAuth {
		allowAllOrigins(c.w.Header())
	}
	denied := c.identify()
	if err := c.takeRequest(); err != nil {
		return err
	}
	if encoding := c.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return fault.New(fault.Invalid, "Request bodies must not be compressed.")
	}
	if denied != nil {
		return denied
	}
	if err := c.refuseCrossSite(); err != nil {
		return err
	}
	return c.route.handler(c)
}

// settings returns the site settings as they are now on every replica: the cached ones unless the
// config version of this request is newer. The client's disconnection does not cancel the read.
func (c *call) settings() (site.Settings, error) {
	version, err := c.configVersion()
	if err != nil {
		return site.Settings{}, err
	}
	return c.a.Site.Current(context.WithoutCancel(c.ctx()), version)
}

// limitSettings returns the settings for the request limit. If the request has not read the config
// version from the database yet, they need no query and may be up to a second out of date, see
// site.Store.Recent.
func (c *call) limitSettings() (site.Settings, error) {
	if c.version != 0 {
		return c.settings()
	}
	return c.a.Site.Recent(context.WithoutCancel(c.ctx()), c.a.Now())
}

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

// route is one line of the table.
type route struct {
	method   string
	pattern  string // below /api/, with {name} for a parameter; "" for what is dispatched by hand
	auth     authMode
	limit    limitClass
	addition bool // not in the specification: x-addition in the OpenAPI document
	probe    bool // for machines that watch: no request to be counted
	freeMode bool // closed while free mode is
	readOnly bool // changes nothing although it is no GET
	summary  string
	status   int // of success
	// those the specification lists, beyond what the credential, the limit and the body can give
	faults        []fault.Kind
	input, output reflect.Type   // nil for streams, but for the query of some
	jsonBody      bool           // a JSON body is read
	mediaType     string         // what is streamed out, for the document
	redirect      string         // where a 302 leads, for the document; "" for none
	bodies        map[string]any // streamed bodies by media type, for the document
	reply         reflect.Type   // the JSON that a stream answers, for the document
	handler       func(c *call) error
	// what the handler serves, nil when nothing is asked for; see lookUp
	find func(c *call) (*files.FoundEntry, error)
}

// jsonRoute makes a handler out of a function from input to output: the input is bound from path,
// query and body by its field tags, the output becomes the data of the envelope.
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

// mediaType makes a route of a function that answers by itself.
func streamRoute(media string, fn func(c *call) error) route {
	return route{status: http.StatusOK, mediaType: media, handler: fn}
}

// run takes a request through a route.
func (a *API) run(c *call, rt *route) {
	c.route = rt
	if err := c.serve(); err != nil {
		c.fail(err)
	}
}

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

// settings returns the site settings of this request: as they are now, on every replica.
func (c *call) settings() (site.Settings, error) {
	version, err := c.configVersion()
	if err != nil {
		return site.Settings{}, err
	}
	return c.a.Site.Current(context.WithoutCancel(c.ctx()), version)
}

// limitSettings returns the settings that the request limit goes by. A request that has read
// nothing from the database so far reads nothing for them either, see site.Store.Recent.
func (c *call) limitSettings() (site.Settings, error) {
	if c.version != 0 {
		return c.settings()
	}
	return c.a.Site.Recent(context.WithoutCancel(c.ctx()), c.a.Now())
}

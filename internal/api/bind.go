package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"larder/internal/fault"
)

// maxJSONBody is the largest JSON body in bytes.
const maxJSONBody = 1 << 20

// binding maps the fields of an input struct to their sources. The tags are those of the OpenAPI
// document, so the document and the checks can't disagree: path, query or json name the source;
// required, minimum, maximum, minLength, maxLength, minItems, maxItems and enum bound the value.
//
// The fields of an embedded struct count as those of the input struct.
//
// Fields of path and query are strings, *string, *int64 or *bool; JSON fields are pointers where
// absence matters. A field is checked for presence, not for zero: a missing number and null are the
// same, and never 0. A required field with late:"true" is checked by the handler, which returns
// other faults first.
type binding struct {
	fields  []inputField
	hasBody bool
}

// inputField is one field of an input struct with the source and the bounds in its tags. A bound
// without a tag is nil, 0 or empty.
type inputField struct {
	index     []int // of reflect.Value.FieldByIndex
	name      string
	source    string // "path", "query", "json"
	required  bool
	minimum   *int64
	maximum   *int64
	minLength int
	maxLength int
	minItems  int
	maxItems  int
	enum      []string
}

// bindingOf reads the tags of an input struct once, when the route table is built. It panics on a
// wrong tag, which is a programming error.
func bindingOf(t reflect.Type) binding {
	var b binding
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("input %s is not a struct", t))
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous { // its fields are visible as well
			continue
		}
		field := inputField{index: f.Index, required: f.Tag.Get("required") == "true" && f.Tag.Get("late") != "true",
			enum: split(f.Tag.Get("enum"))}
		for _, source := range []string{"path", "query", "json"} {
			if name, _, _ := strings.Cut(f.Tag.Get(source), ","); name != "" && name != "-" {
				field.name, field.source = name, source
				break
			}
		}
		switch {
		case field.source == "":
			panic(fmt.Sprintf("%s.%s has no source", t, f.Name))
		case field.source != "json" && f.Tag.Get("json") != "-":
			panic(fmt.Sprintf("%s.%s could be set by the body: it needs json:\"-\"", t, f.Name))
		case field.source == "json":
			b.hasBody = true
		}
		field.minimum, field.maximum = tagInt(f.Tag.Get("minimum")), tagInt(f.Tag.Get("maximum"))
		for tag, bound := range map[string]*int{
			"minLength": &field.minLength, "maxLength": &field.maxLength, "minItems": &field.minItems,
			"maxItems": &field.maxItems,
		} {
			if n := tagInt(f.Tag.Get(tag)); n != nil {
				*bound = int(*n)
			}
		}
		b.fields = append(b.fields, field)
	}
	return b
}

// tagInt parses a tag such as minimum; it returns nil for an absent tag and panics for a wrong one.
func tagInt(s string) *int64 {
	if s == "" {
		return nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return &n
}

// split splits a tag at its commas; it returns nil for an absent tag.
func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// bind fills a handler's input struct, which into refers to, from path, query and JSON body, and
// checks the bounds in its tags. Faults: Invalid with the field, TooLarge.
func (b binding) bind(c *call, into reflect.Value) error {
	if b.hasBody {
		if err := b.decodeBody(c, into.Addr().Interface()); err != nil {
			return err
		}
	}
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return fault.New(fault.Invalid, "The query string is malformed.")
	}
	for _, f := range b.fields {
		value := into.FieldByIndex(f.index)
		switch f.source {
		case "path":
			value.SetString(c.r.PathValue(f.name))
		case "query":
			if err := f.fromQuery(query, value); err != nil {
				return fault.InField(err, f.name)
			}
		}
		if err := f.check(value); err != nil {
			return fault.InField(err, f.name)
		}
	}
	return nil
}

// bindInput returns the input struct of a stream route, filled from path, query and body as bind
// does; the handler calls it. Faults: those of bind.
func bindInput[In any](c *call) (In, error) {
	var in In
	err := bindingOf(reflect.TypeFor[In]()).bind(c, reflect.ValueOf(&in).Elem())
	return in, err
}

// fromQuery reads one query parameter into a pointer field: *string, *int64 or *bool. An empty
// parameter counts as absent and leaves the pointer nil. Fault: Invalid.
func (f inputField) fromQuery(query url.Values, into reflect.Value) error {
	text := query.Get(f.name)
	if text == "" {
		return nil
	}
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return fault.Newf(fault.Invalid, "%s must be valid UTF-8 without NUL.", f.name)
	}
	target := reflect.New(into.Type().Elem())
	switch target.Elem().Kind() {
	case reflect.String:
		target.Elem().SetString(text)
	case reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || text[0] == '+' {
			return fault.Newf(fault.Invalid, "%s must be an integer.", f.name)
		}
		target.Elem().SetInt(n)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return fault.Newf(fault.Invalid, "%s must be true or false.", f.name)
		}
		target.Elem().SetBool(text == "true")
	default:
		panic(fmt.Sprintf("query parameter %s has type %s", f.name, into.Type()))
	}
	into.Set(target)
	return nil
}

// check checks a bound value against the tags of its field: presence if it is required, the bounds
// of a number, the length and choices of a text, the number of items of a list. Fault: Invalid.
func (f inputField) check(value reflect.Value) error {
	if n, ok := value.Interface().(interface{ given() any }); ok {
		value = reflect.ValueOf(n.given())
	}
	if value.Kind() == reflect.Pointer || value.Kind() == reflect.Slice {
		if value.IsNil() {
			if f.required {
				return fault.Newf(fault.Invalid, "%s is required.", f.name)
			}
			return nil
		}
	}
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	switch value.Kind() {
	case reflect.Int64:
		n := value.Int()
		if f.minimum != nil && n < *f.minimum || f.maximum != nil && n > *f.maximum {
			return f.rangeFault()
		}
	case reflect.String:
		return f.checkText(value.String())
	case reflect.Slice:
		if n := value.Len(); n < f.minItems || f.maxItems > 0 && n > f.maxItems {
			return fault.Newf(fault.Invalid, "%s must have between %d and %d items.", f.name, f.minItems, f.maxItems)
		}
	}
	return nil
}

// checkText checks a string against the bounds in its tags; lengths are in characters. A required
// JSON string may not be empty, unless its minLength is given. Fault: Invalid.
func (f inputField) checkText(s string) error {
	length := utf8.RuneCountInString(s)
	switch {
	case f.required && f.source == "json" && f.minLength == 0 && s == "":
		return fault.Newf(fault.Invalid, "%s must not be empty.", f.name)
	case f.minLength > 0 && length < f.minLength:
		return fault.Newf(fault.Invalid, "%s must have at least %d characters.", f.name, f.minLength)
	case f.maxLength > 0 && length > f.maxLength && !f.fitsComposed(s):
		return fault.Newf(fault.Invalid, "%s must have at most %d characters.", f.name, f.maxLength)
	case f.enum != nil && !slices.Contains(f.enum, s):
		return fault.Newf(fault.Invalid, "%s must be one of %s.", f.name, strings.Join(f.enum, ", "))
	}
	return nil
}

// fitsComposed reports whether a text that is longer than maxLength is short enough in Unicode's
// composed form (NFC), in which names and titles are stored: a letter and its accent then count
// once. The domain checks the other texts' lengths again itself.
func (f inputField) fitsComposed(s string) bool {
	return len(s) <= 20*f.maxLength && utf8.RuneCountInString(norm.NFC.String(s)) <= f.maxLength
}

// rangeFault returns the fault Invalid for a number outside of the field's minimum and maximum; the
// sentence names the bounds that exist.
func (f inputField) rangeFault() error {
	switch {
	case f.minimum != nil && f.maximum != nil:
		return fault.Newf(fault.Invalid, "%s must be between %d and %d.", f.name, *f.minimum, *f.maximum)
	case f.minimum != nil:
		return fault.Newf(fault.Invalid, "%s must be at least %d.", f.name, *f.minimum)
	}
	return fault.Newf(fault.Invalid, "%s must be at most %d.", f.name, *f.maximum)
}

// decodeBody reads the request's body, one JSON object of at most maxJSONBody bytes, into the
// struct that into points to, and ignores unknown fields. Faults: Invalid, TooLarge.
func (b binding) decodeBody(c *call, into any) error {
	media, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return fault.New(fault.Invalid, "The body must be JSON, sent with Content-Type: application/json.")
	}
	text, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxJSONBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return fault.New(fault.TooLarge, "A JSON body has at most 1 MiB.")
	case err != nil:
		return fault.New(fault.Invalid, "The body could not be read.").WithCause(err)
	case !utf8.Valid(text) || hasInvalidEscape(text):
		return fault.New(fault.Invalid, "The body must be valid UTF-8 without NUL.")
	case !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")):
		return fault.New(fault.Invalid, "The body must be a JSON object.")
	}
	text, err = b.dropUnknownNames(text)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		var wrongType *json.UnmarshalTypeError
		if errors.As(err, &wrongType) {
			return fault.Newf(fault.Invalid, "%s has the wrong type.", wrongType.Field).WithCause(err)
		}
		return fault.New(fault.Invalid, "The body is not valid JSON.").WithCause(err)
	}
	return nil
}

// dropUnknownNames removes from a JSON object the fields whose names differ from those of the
// binding, even if only in case: encoding/json would accept ROLE for role, but ROLE is an unknown
// field, and unknown fields are ignored (abuse case C52). The error is that of malformed JSON.
func (b binding) dropUnknownNames(text []byte) ([]byte, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(text, &given); err != nil {
		return nil, err
	}
	foreign := false
	for name := range given {
		if !slices.ContainsFunc(b.fields, func(f inputField) bool { return f.source == "json" && f.name == name }) {
			delete(given, name)
			foreign = true
		}
	}
	if !foreign {
		return text, nil
	}
	return json.Marshal(given)
}

// hasInvalidEscape reports whether JSON text contains \u0000, which no database accepts, or an
// unpaired \uD800–\uDFFF escape, which encoding/json would silently replace (abuse cases C5, C6).
func hasInvalidEscape(text []byte) bool {
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		unit, ok := escapedUnit(text[i:])
		switch {
		case !ok:
			i++ // another escape, such as \\ or \n
		case unit == 0, unit >= 0xDC00 && unit <= 0xDFFF:
			return true
		case unit >= 0xD800 && unit <= 0xDBFF:
			low, ok := escapedUnit(text[i+6:])
			if !ok || low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 11
		default:
			i += 5
		}
	}
	return false
}

// escapedUnit reads a \uXXXX escape at the beginning of text. It returns the UTF-16 code unit, and
// false if the text does not begin with such an escape.
func escapedUnit(text []byte) (uint64, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return unit, err == nil
}

// nullable is a JSON field for which absent, null and a value mean three things. The zero value is
// absent.
type nullable[T any] struct {
	isSet bool
	value *T // nil for null
}

// MarshalJSON implements json.Marshaler: null for absent and for null. With omitzero an absent
// field is omitted.
func (n nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.value) }

// UnmarshalJSON implements json.Unmarshaler; it is not called for an absent field.
func (n *nullable[T]) UnmarshalJSON(text []byte) error {
	n.isSet = true
	return json.Unmarshal(text, &n.value)
}

// given returns the value as a *T, nil for absent and for null; inputField.check calls it.
func (n nullable[T]) given() any { return n.value }

// text is a string in a list, where null is refused; encoding/json would read null as an empty
// string.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(body []byte) error {
	if string(body) == "null" {
		return &json.UnmarshalTypeError{Value: "null", Type: reflect.TypeFor[string]()}
	}
	return json.Unmarshal(body, (*string)(t))
}

// valueOr returns the value that p points to, or otherwise when p is nil.
func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

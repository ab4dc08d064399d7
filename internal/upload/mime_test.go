package upload

import (
	"strings"
	"testing"

	"larder/internal/vpath"
)

const pngHead = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"

func TestTypeOfAFile(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		file   vpath.Name
		head   string
		claims []string
		want   string
	}{
		{"the client's counts", "a.png", pngHead, []string{"image/webp"}, "image/webp"},
		{"the request's before the session's", "a", "", []string{"text/css", "text/csv"}, "text/css"},
		{"the session's when the request says nothing", "a", "", []string{"application/octet-stream", "text/csv"},
			"text/csv"},
		{"unknown bytes are no claim", "a.png", "", []string{"application/octet-stream"}, "image/png"},
		{"curl's type is no claim", "a.png", "", []string{"application/x-www-form-urlencoded"}, "image/png"},
		{"a form is no claim", "a.png", "", []string{"multipart/form-data; boundary=x"}, "image/png"},
		{"upper case", "a", "", []string{"Image/PNG"}, "image/png"},
		{"parameters are dropped", "a", "", []string{"video/mp4; codecs=avc1"}, "video/mp4"},
		{"text keeps its charset", "a", "", []string{"text/plain; Charset=GBK; format=flowed"},
			"text/plain; charset=gbk"},
		{"a charset with a line break does not pass", "a.txt", "",
			[]string{"text/plain; charset=\"a\r\nSet-Cookie: x\""}, "text/plain"},
		{"a charset with quotes does not pass", "a", "", []string{`text/html; charset="a\"b"`}, "text/html"},
		{"a broken parameter", "a", "", []string{"text/css; charset"}, "text/css"},
		{"line breaks", "a.png", "", []string{"text/html\r\nX: y"}, "image/png"},
		{"no subtype", "a.png", "", []string{"image"}, "image/png"},
		{"empty subtype", "a.png", "", []string{"image/"}, "image/png"},
		{"a wildcard", "a.png", "", []string{"image/*"}, "image/png"},
		{"255 characters", "a", "", []string{"x/" + strings.Repeat("y", 253)}, "x/" + strings.Repeat("y", 253)},
		{"256 characters", "a.png", "", []string{"x/" + strings.Repeat("y", 254)}, "image/png"},
		{"another name of a picture's type", "a", "", []string{"image/jpg"}, "image/jpeg"},
		{"by the name, before the bytes", "a.JPG", pngHead, nil, "image/jpeg"},
		{"the last of two endings", "a.png.svg", "", nil, "image/svg+xml"},
		{"by the bytes", "picture", pngHead, nil, "image/png"},
		{"by the bytes, for an unknown ending", "picture.qqq", "GIF89a\x01\x00\x01\x00", nil, "image/gif"},
		{"a page by its bytes", "page", "<!DOCTYPE html><html>", nil, "text/html; charset=utf-8"},
		{"unknown bytes", "a", "\x00\x01\x02\x03", nil, "application/octet-stream"},
		{"a dot alone", "a.", "\x00\x01\x02\x03", nil, "application/octet-stream"},
	}
	for _, c := range cases {
		claims := make([]string, len(c.claims))
		for i, s := range c.claims {
			claims[i] = cleanType(s)
		}
		if got := decideType(c.file, []byte(c.head), claims...); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestOnlyPixelsAreRaster(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mimeType, head string
		want           bool
	}{
		{"image/png", pngHead, true},
		{"image/jpeg", pngHead, true},
		{"image/png", "<!DOCTYPE html><html><script>", false},
		{"image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"/>`, false},
		{"image/png", `<svg xmlns="http://www.w3.org/2000/svg"/>`, false},
		{"text/html", pngHead, false},
		{"image/png", "", false},
	} {
		if got := (OneShot{Links: "images"}).makesLink(c.mimeType, []byte(c.head)); got != c.want {
			t.Errorf("%s, %.20q: %v", c.mimeType, c.head, got)
		}
	}
}

package apikey_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"larder/internal/apikey"
	"larder/internal/fault"
	"larder/internal/vpath"
)

func TestUploadRootEndsBeforeTheFirstPlaceholder(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"":                        "/uploads",
		"/uploads":                "/uploads",
		"/uploads/":               "/uploads",
		"uploads":                 "/uploads",
		"/uploads/{year}/{month}": "/uploads",
		"/uploads/{year}/x":       "/uploads",
		"/a/b/x-{year}/c":         "/a/b",
		"/{username}/pics":        "/",
		"/":                       "/",
		"/a/{b":                   "/a/{b",
		"/a/b}/{/}":               "/a/b}/{/}",
		"/a/{{year}}":             "/a",
	} {
		got, err := apikey.UploadRoot(path)
		if err != nil || got.String() != want {
			t.Errorf("%q: got %s, %v, want %s", path, got, err, want)
		}
	}
	for _, path := range []string{"/a/../b", "/~", "/a/{nope}", "/a\\b"} {
		if _, err := apikey.UploadRoot(path); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%q: got %v", path, err)
		}
	}
}

// testValues has the time 3 January 2026, 04:05:06.789 UTC, in another time zone.
var testValues = apikey.TemplateValues{
	Now:      time.Date(2026, 1, 3, 1, 5, 6, 789e6, time.FixedZone("west", -3*3600)),
	UUID:     "0d5f9e0c-0000-4000-8000-000000000000",
	Random:   "aB3dE6gH",
	Username: "ann",
	FileName: "Katze am See.v2.JPG",
}

func TestTargetExpandsPlaceholders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ uploadPath, requestPath, want string }{
		{"/uploads", "", "/uploads"},
		{"", "", "/uploads"},
		{"/uploads/{year}/{month}/{day}", "", "/uploads/2026/01/03"},
		{"/uploads/{year}{month}{day}-{hour}{minute}{second}", "", "/uploads/20260103-040506"},
		{"/uploads/{timestamp}", "", "/uploads/1767413106789"},
		{"/uploads/{uuid}/{random}", "", "/uploads/0d5f9e0c-0000-4000-8000-000000000000/aB3dE6gH"},
		{"/uploads/{username}/{ext}/{filename}", "", "/uploads/ann/JPG/Katze am See.v2"},
		{"/{username}", "", "/ann"},
		{"/uploads/{{year}}", "", "/uploads/{2026}"},
		{"/uploads/{year", "", "/uploads/{year"},
		// The path of a request, relative to the root or absolute inside it.
		{"/uploads", "a/b", "/uploads/a/b"},
		{"/uploads", "a//b/./c/", "/uploads/a/b/c"},
		{"/uploads", ".", "/uploads"},
		{"/uploads", "/uploads", "/uploads"},
		{"/uploads", "/uploads/a", "/uploads/a"},
		{"/uploads", "uploads/a", "/uploads/uploads/a"},
		{"/uploads", "{year}/{ext}", "/uploads/2026/JPG"},
		{"/uploads", "/uploads/{username}", "/uploads/ann"},
		{"/uploads/{year}", "a", "/uploads/a"},
		{"/uploads/{year}", "/uploads/1999", "/uploads/1999"},
		{"/", "a", "/a"},
		{"/", "/", "/"},
		{"/uploads", "a~b", "/uploads/a~b"},
		{"/uploads", "a..b", "/uploads/a..b"},
		{"/uploads", "...", "/uploads/..."},
		{"/uploads", "e\u0301", "/uploads/\u00e9"},
	} {
		got, err := apikey.Key{UploadPath: c.uploadPath}.UploadFolder(c.requestPath, testValues)
		if err != nil || got.String() != c.want {
			t.Errorf("%q, %q: got %s, %v, want %s", c.uploadPath, c.requestPath, got, err, c.want)
		}
	}
}

// Abuse case C15.
func TestTargetNeverLeavesTheRoot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		uploadPath, requestPath string
		want                    fault.Kind
	}{
		{"/uploads", "/uploads-evil/x", fault.Forbidden},
		{"/uploads", "/uploadsX", fault.Forbidden},
		{"/uploads", "/Uploads", fault.Forbidden},
		{"/uploads", "/", fault.Forbidden},
		{"/uploads", "/public", fault.Forbidden},
		{"/uploads", "//public", fault.Forbidden},
		{"/uploads", "/upload/s", fault.Forbidden},
		{"/uploads", "..", fault.Forbidden},
		{"/uploads", "../public", fault.Forbidden},
		{"/uploads", "a/../../public", fault.Forbidden},
		{"/uploads", "a/../b", fault.Forbidden},
		{"/uploads", "/uploads/../public", fault.Forbidden},
		{"/uploads", ".. ", fault.Forbidden},
		{"/uploads", " ../x", fault.Forbidden},
		{"/uploads", "{year}/../..", fault.Forbidden},
		{"/uploads/{year}", "/2026", fault.Forbidden},
		{"/uploads", "/{username}", fault.Forbidden},
		{"/uploads", `a\..\b`, fault.Invalid},
		{"/uploads", `..\b`, fault.Invalid},
		{"/uploads", "a\x00b", fault.Invalid},
		{"/uploads", "a\nb", fault.Invalid},
		{"/uploads", "a\xffb", fault.Invalid},
		{"/uploads", " ", fault.Invalid},
		{"/uploads", "{nope}", fault.Invalid},
		{"/uploads", "{}", fault.Invalid},
		{"/uploads", "{..}", fault.Invalid},
		{"/uploads", strings.Repeat("a/", 64), fault.Invalid},
		{"/uploads", strings.Repeat("x", 256), fault.Invalid},
		{"/../etc", "", fault.Forbidden},
		{"/~root", "a", fault.Forbidden},
	} {
		_, err := apikey.Key{UploadPath: c.uploadPath}.UploadFolder(c.requestPath, testValues)
		if !fault.Is(err, c.want) {
			t.Errorf("%q, %q: got %v, want kind %d", c.uploadPath, c.requestPath, err, c.want)
		}
	}
}

// Abuse case C16.
func TestValuesStayWithinTheirSegment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ template, fileName, want string }{
		{"{filename}", "{year}", "{year}"},
		{"{filename}", "{year}.jpg", "{year}"},
		{"{filename}", "{../..}", "{.._."},
		{"{filename}", "{..}.jpg", "{..}"},
		{"{ext}", "a.{month}", "{month}"},
		{"{filename}", "../../etc/passwd", ".._."},
		{"{filename}", `..\..\x.txt`, ".._.._x"},
		{"{filename}", "..", "_"},
		{"{filename}", ".", "_"},
		{"{filename}", "...jpg", "_"},
		{"{filename}", "..jpg", "_"},
		{"{ext}", "x...", "_"},
		{"{filename}", "", "_"},
		{"{ext}", "README", "_"},
		{"{ext}", "README.", "_"},
		{"{filename}", ".jpg", ".jpg"},
		{"{ext}", ".jpg", "_"},
		{"{filename}", "a .jpg", "a"},
		{"{filename}", "a\x00b\nc.jpg", "a_b_c"},
		{"{filename}", "a\u202eb.jpg", "a_b"},
		{"{filename}", "a\xffb.jpg", "a_b"},
		{"{filename}", "cafe\u0301.jpg", "caf\u00e9"},
		{".{filename}", "..jpg", "_"},
		{"{filename}{ext}", "...", "_"},
		{"x-{filename}", strings.Repeat("ü", 255), "x-" + strings.Repeat("ü", 253)},
		{"{filename}-x", strings.Repeat("y", 254) + " z", strings.Repeat("y", 254)},
		{"{ext}.tar", "a.gz", "gz.tar"},
	} {
		v := testValues
		v.FileName = c.fileName
		for name, target := range map[string]func() (vpath.Path, error){
			"template": func() (vpath.Path, error) {
				return apikey.Key{UploadPath: "/up/" + c.template + "/in"}.UploadFolder("", v)
			},
			"request": func() (vpath.Path, error) {
				return apikey.Key{UploadPath: "/up"}.UploadFolder(c.template+"/in", v)
			},
		} {
			got, err := target()
			if want := "/up/" + c.want + "/in"; err != nil || got.String() != want {
				t.Errorf("%s %s of %.40q: got %s, %v, want %s", name, c.template, c.fileName, got, err, want)
			}
		}
	}
	for _, who := range []string{"..", "a/b", "/", "~"} {
		v := testValues
		v.Username, v.UUID, v.Random = who, who, who
		for _, placeholder := range []string{"{username}", "{uuid}", "{random}"} {
			got, err := apikey.Key{UploadPath: "/up/" + placeholder}.UploadFolder("", v)
			if err != nil || got.Depth() != 2 || got.Parent().String() != "/up" {
				t.Errorf("%s as %s: got %s, %v", who, placeholder, got, err)
			}
		}
	}
}

// TestNoRequestPathLeavesTheUploadRoot tries paths and file names of special characters.
func TestNoRequestPathLeavesTheUploadRoot(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"/", "/", "..", ".", "up", "upX", "{filename}", "{ext}", "{username}", "{", "}",
		`\`, " ", "~", "x", "%2e", "\u202e", "\x00"})
	pieces := rapid.Custom(func(rt *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(rt, "pieces"), "")
	})
	rapid.Check(t, func(rt *rapid.T) {
		v := apikey.TemplateValues{Now: testValues.Now, FileName: pieces.Draw(rt, "file"),
			Username: pieces.Draw(rt, "user")}
		got, err := apikey.Key{UploadPath: "/up/{username}"}.UploadFolder(pieces.Draw(rt, "path"), v)
		if err != nil {
			if !fault.Is(err, fault.Forbidden) && !fault.Is(err, fault.Invalid) {
				rt.Fatal(err)
			}
			return
		}
		names := got.Names()
		if len(names) == 0 || names[0] != "up" {
			rt.Fatalf("it goes to %s", got)
		}
		if again, err := vpath.Parse(got.String()); err != nil || again != got {
			rt.Fatalf("%s is not clean: %v", got, err)
		}
	})
}

// FuzzTemplate checks that every template, request and file name gives a clean path inside the
// upload root (abuse cases C15 to C17).
func FuzzTemplate(f *testing.F) {
	for _, seed := range [][3]string{
		{"/uploads/{year}/{month}", "", "cat.jpg"},
		{"/uploads/{filename}", "", ".."},
		{"/uploads/{ext}", "sub/{year}", "a.{../..}"},
		{"/uploads", "/uploads-evil/x", "a"},
		{"/uploads", "..", "a"},
		{"/a/{username}/{random}{uuid}", "/a/./b//c", "x\u202e.png"},
		{"{", "}", "{year}"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, uploadPath, requestPath, fileName string) {
		root, err := apikey.UploadRoot(uploadPath)
		if err != nil {
			return
		}
		v := testValues
		v.FileName = fileName
		target, err := apikey.Key{UploadPath: uploadPath}.UploadFolder(requestPath, v)
		if err != nil {
			if !fault.Is(err, fault.Forbidden) && !fault.Is(err, fault.Invalid) {
				t.Fatalf("%q, %q, %q: %v", uploadPath, requestPath, fileName, err)
			}
			return
		}
		if again, err := vpath.Parse(target.String()); err != nil || again != target || !target.Within(root) {
			t.Fatalf("%q, %q, %q lead to %s, %v, with the root %s", uploadPath, requestPath, fileName, target, err,
				root)
		}
	})
}

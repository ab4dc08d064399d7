package picture_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"larder/internal/thumb/picture"
	"larder/internal/thumb/thumbtest"
)

// cameraOf returns the camera of a picture by a child.
func cameraOf(t testing.TB, original []byte) picture.Camera {
	t.Helper()
	text, err := inspected(t, picture.CameraArg, original)
	if err != nil {
		t.Fatal(err)
	}
	c, err := picture.ParseCamera(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// withFields returns a JPEG with fields of EXIF.
func withFields(first, exposure, gps []thumbtest.Field) []byte {
	return thumbtest.InJPEG(thumbtest.JPEG(thumbtest.Quarters(8, 8)),
		thumbtest.EXIFOf(binary.LittleEndian, first, exposure, gps))
}

// Camera, lens, exposure and coordinates are read from EXIF of both byte orders in each format.
func TestCamera(t *testing.T) {
	t.Parallel()
	quarters := thumbtest.Quarters(64, 48)
	for what, original := range map[string][]byte{
		"JPEG":       thumbtest.InJPEG(thumbtest.JPEG(quarters), thumbtest.Holiday(binary.LittleEndian)),
		"big endian": thumbtest.InJPEG(thumbtest.JPEG(quarters), thumbtest.Holiday(binary.BigEndian)),
		"PNG":        thumbtest.InPNG(thumbtest.PNG(quarters), thumbtest.Holiday(binary.BigEndian)),
		"WebP":       thumbtest.InWebP(thumbtest.Lossy, thumbtest.Holiday(binary.LittleEndian), 64, 48),
		"HEIF":       thumbtest.HEIFHead(640, 480, false, thumbtest.Holiday(binary.BigEndian)),
	} {
		got := cameraOf(t, original)
		if got.Name() != "NIKON D750" || got.Lens != "35mm f/1.8" || got.Exposure != 0.004 || got.Aperture != 2.8 ||
			got.ISO != 400 || got.Focal != 35 {
			t.Errorf("%s: %+v", what, got)
		}
		// 33° 51' 31.2" south, 151° 12' 54" east, 12.5 m below the sea
		at := picture.Coordinates{Latitude: -33.858667, Longitude: 151.215}
		if got.Coordinates == nil || *got.Coordinates != at || got.Altitude == nil || *got.Altitude != -12.5 {
			t.Errorf("%s: the coordinates %v, %v", what, got.Coordinates, got.Altitude)
		}
	}
	if got := cameraOf(t, thumbtest.JPEG(quarters)); got != (picture.Camera{}) {
		t.Errorf("without EXIF: %+v", got)
	}
}

// A maker that the model names already is left out.
func TestCameraName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ maker, model, want string }{
		{"Canon", "Canon EOS R5", "Canon EOS R5"},
		{"Apple", "iPhone 15 Pro", "Apple iPhone 15 Pro"},
		{"", "DMC-G9", "DMC-G9"},
		{"Leica Camera AG", "", "Leica Camera AG"},
		{"", "", ""},
	} {
		if got := (picture.Camera{Maker: c.maker, Model: c.model}).Name(); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.maker, c.model, got, c.want)
		}
	}
}

// Values that are not valid are left out, and the others stay.
func TestCameraInvalid(t *testing.T) {
	t.Parallel()
	model := thumbtest.Text(0x0110, "X100")
	north, east := thumbtest.Text(1, "N"), thumbtest.Text(3, "E")
	with := func(exposure thumbtest.Field) []byte {
		return withFields([]thumbtest.Field{model}, []thumbtest.Field{exposure}, nil)
	}
	there := []thumbtest.Field{thumbtest.Rationals(2, 1, 1, 2, 1, 3, 1), thumbtest.Rationals(4, 4, 1, 5, 1, 6, 1)}
	for what, original := range map[string][]byte{
		"a zero denominator":  with(thumbtest.Rationals(0x829a, 1, 0)),
		"a huge aperture":     with(thumbtest.Rationals(0x829d, 1<<31, 1)),
		"a text for a number": with(thumbtest.Text(0x8827, "400 and more")),
		"a line break":        withFields([]thumbtest.Field{model, thumbtest.Text(0x010f, "a\nb")}, nil, nil),
		"a long text": withFields([]thumbtest.Field{model, thumbtest.Text(0x010f, strings.Repeat("x", 100))},
			nil, nil),
		"no UTF-8":       withFields([]thumbtest.Field{model, thumbtest.Text(0x010f, "\xff\xfe")}, nil, nil),
		"no longitude":   withFields([]thumbtest.Field{model}, nil, []thumbtest.Field{north, east, there[0]}),
		"without a side": withFields([]thumbtest.Field{model}, nil, append([]thumbtest.Field{north}, there...)),
		"beyond the pole": withFields([]thumbtest.Field{model}, nil, []thumbtest.Field{north, east, there[1],
			thumbtest.Rationals(2, 91, 1, 0, 1, 0, 1)}),
		"no fix": withFields([]thumbtest.Field{model}, nil, []thumbtest.Field{north, east,
			thumbtest.Rationals(2, 0, 1, 0, 1, 0, 1), thumbtest.Rationals(4, 0, 1, 0, 1, 0, 1)}),
		"a second directory of a kind": withFields( // the first one is the directory of the model
			[]thumbtest.Field{model, thumbtest.Long(0x8769, 8), thumbtest.Long(0x8825, 8)},
			[]thumbtest.Field{thumbtest.Short(0x8827, 400)}, append(there, north, east)),
		"a height without coordinates": withFields([]thumbtest.Field{model}, nil,
			[]thumbtest.Field{thumbtest.Rationals(6, 100, 1)}),
	} {
		if got := cameraOf(t, original); got != (picture.Camera{Model: "X100"}) {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// The server does not trust the process that has read the picture.
func TestParseCamera(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{
		"nothing":                  "",
		"no object":                `[1]`,
		"two lines":                `{"model": "a\nb"}`,
		"a long text":              `{"lens": "` + strings.Repeat("x", 65) + `"}`,
		"a negative":               `{"exposure": -1}`,
		"coordinates out of range": `{"coordinates": {"latitude": 100, "longitude": 0}}`,
		"height alone":             `{"altitude": 3}`,
		"a large number":           `{"iso": 1000000000}`,
	} {
		if c, err := picture.ParseCamera([]byte(text)); err == nil {
			t.Errorf("%s: %+v", what, c)
		}
	}
}

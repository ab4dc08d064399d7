package picture

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CameraArg is the argument of Main that asks for the Camera of a picture.
const CameraArg = "camera"

// MaxCamera is the maximal length of the output of Main for CameraArg in bytes.
const MaxCamera = 2 << 10

// Camera contains properties from the EXIF fields of a picture: the camera, the exposure and the
// coordinates. A value is zero if the picture has no field for it or if the field is not valid.
type Camera struct {
	Maker       string
	Model       string
	Lens        string
	Exposure    float64 // seconds
	Aperture    float64 // the F number
	ISO         int
	Focal       float64 // the focal length in mm
	Coordinates *Coordinates
	Altitude    *float64 // metres above the sea; nil without Coordinates
}

// Coordinates are a point on the earth in degrees, north and east of the equator and Greenwich.
type Coordinates struct {
	Latitude  float64
	Longitude float64
}

// Name returns the name of the camera: its maker and its model, which often begins with the maker.
func (c Camera) Name() string {
	first, _, _ := strings.Cut(c.Maker, " ")
	if c.Model != "" && strings.HasPrefix(strings.ToLower(c.Model), strings.ToLower(first)) {
		return c.Model
	}
	return strings.TrimSpace(c.Maker + " " + c.Model)
}

// ParseCamera parses the output of Main for CameraArg. It does not trust the process, which has
// read the picture of a user.
func ParseCamera(text []byte) (c Camera, err error) {
	if err := json.Unmarshal(text, &c); err != nil {
		return Camera{}, fmt.Errorf("thumb: the camera of a picture: %w", err)
	}
	if v := c.valid(); v != c {
		return Camera{}, errors.New("thumb: the camera of a picture is not valid")
	}
	return c, nil
}

// valid returns c without the values that are out of their range.
func (c Camera) valid() Camera {
	for _, text := range []*string{&c.Maker, &c.Model, &c.Lens} {
		if !validText(*text) {
			*text = ""
		}
	}
	for _, value := range []*float64{&c.Exposure, &c.Aperture, &c.Focal} {
		if !within(*value, 0, 1e5) {
			*value = 0
		}
	}
	if c.ISO < 0 || c.ISO > 1e8 {
		c.ISO = 0
	}
	if p := c.Coordinates; p != nil && !(within(p.Latitude, -90, 90) && within(p.Longitude, -180, 180)) {
		c.Coordinates = nil
	}
	if a := c.Altitude; a != nil && (c.Coordinates == nil || !within(*a, -20_000, 1e6)) {
		c.Altitude = nil
	}
	return c
}

// within reports whether v is a number from low to high.
func within(v, low, high float64) bool { return !math.IsNaN(v) && v >= low && v <= high }

// validText reports whether a text can be shown in one line.
func validText(text string) bool {
	return len(text) <= maxText && utf8.ValidString(text) && strings.TrimSpace(text) == text &&
		strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// Tags of fields (EXIF 2.32, sections 4.6.2 to 4.6.6) and types of their values.
const (
	makerTag                = 0x010f
	modelTag                = 0x0110
	coordinatesDirectoryTag = 0x8825
	exposureTag             = 0x829a
	apertureTag             = 0x829d
	isoTag                  = 0x8827
	focalTag                = 0x920a
	lensTag                 = 0xa434
	latitudeTag             = 2
	longitudeTag            = 4
	altitudeTag             = 6
	latitudeSideTag         = 1
	longitudeSideTag        = 3
	altitudeBelowTag        = 5
	byteType                = 1
	rationalType            = 5
	degreesPerMinute        = 1.0 / 60
	degreesPerSecond        = 1.0 / 3600
	angleNumbers            = 3 // degrees, minutes and seconds
	altitudeIsBelowSea      = 1
)

// describeCamera writes the Camera of a picture to out.
func describeCamera(in io.ReaderAt, is kind, out io.Writer) error {
	c := Camera{}
	if x, found := exifOf(in, is); found {
		c = x.camera().valid()
	}
	return json.NewEncoder(out).Encode(c)
}

// camera reads the fields of a picture. It does not check the values.
func (x exif) camera() (c Camera) {
	exposed, located := false, false // a second directory of a kind is not valid
	for tag, f := range x.fields(x.first) {
		switch {
		case tag == makerTag:
			c.Maker = strings.TrimSpace(x.text(f))
		case tag == modelTag:
			c.Model = strings.TrimSpace(x.text(f))
		case tag == exifDirectoryTag && f.kind == longType && !exposed:
			exposed = true
			x.exposure(int64(x.order.Uint32(f.value[:])), &c)
		case tag == coordinatesDirectoryTag && f.kind == longType && !located:
			located = true
			x.coordinates(int64(x.order.Uint32(f.value[:])), &c)
		}
	}
	return c
}

// exposure reads the fields of the directory about the exposure.
func (x exif) exposure(directory int64, c *Camera) {
	for tag, f := range x.fields(directory) {
		switch tag {
		case lensTag:
			c.Lens = strings.TrimSpace(x.text(f))
		case exposureTag:
			c.Exposure = x.rational(f)
		case apertureTag:
			c.Aperture = x.rational(f)
		case focalTag:
			c.Focal = x.rational(f)
		case isoTag:
			switch f.kind {
			case shortType:
				c.ISO = int(x.order.Uint16(f.value[:]))
			case longType:
				c.ISO = int(x.order.Uint32(f.value[:]))
			}
		}
	}
}

// coordinates reads the fields of the GPS directory.
func (x exif) coordinates(directory int64, c *Camera) {
	numbers, sides := map[uint16][]float64{}, map[uint16]string{}
	below := false
	for tag, f := range x.fields(directory) {
		switch tag {
		case latitudeTag, longitudeTag:
			numbers[tag] = x.rationals(f, angleNumbers)
		case altitudeTag:
			numbers[tag] = x.rationals(f, 1)
		case latitudeSideTag, longitudeSideTag:
			sides[tag] = x.text(f)
		case altitudeBelowTag:
			below = f.kind == byteType && f.value[0] == altitudeIsBelowSea
		}
	}
	latitude, north := degrees(numbers[latitudeTag], sides[latitudeSideTag], "N", "S")
	longitude, east := degrees(numbers[longitudeTag], sides[longitudeSideTag], "E", "W")
	if !north || !east || latitude == 0 && longitude == 0 { // a receiver without a signal states zeros
		return
	}
	c.Coordinates = &Coordinates{Latitude: latitude, Longitude: longitude}
	if at := numbers[altitudeTag]; at != nil {
		altitude := at[0]
		if below {
			altitude = -altitude
		}
		c.Altitude = &altitude
	}
}

// degrees returns an angle from degrees, minutes and seconds and the letter of its side, rounded to
// a millionth.
func degrees(numbers []float64, side, plus, minus string) (angle float64, ok bool) {
	if len(numbers) != angleNumbers || side != plus && side != minus {
		return 0, false
	}
	angle = numbers[0] + numbers[1]*degreesPerMinute + numbers[2]*degreesPerSecond
	angle = math.Round(angle*1e6) / 1e6
	if side == minus {
		angle = -angle
	}
	return angle, true
}

// rational returns the value of a field of one rational number, 0 for another type.
func (x exif) rational(f field) float64 {
	if numbers := x.rationals(f, 1); numbers != nil {
		return numbers[0]
	}
	return 0
}

// rationals returns the values of a field of count rational numbers, nil for another type, or when
// one of them is not a number.
func (x exif) rationals(f field, count uint32) []float64 {
	if f.kind != rationalType || f.count != count {
		return nil
	}
	b := read(x.in, x.at+int64(x.order.Uint32(f.value[:])), int(8*count))
	if len(b) < int(8*count) {
		return nil
	}
	numbers := make([]float64, count)
	for i := range numbers {
		above, below := x.order.Uint32(b[8*i:]), x.order.Uint32(b[8*i+4:])
		if below == 0 {
			return nil
		}
		numbers[i] = float64(above) / float64(below)
	}
	return numbers
}

package picture_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"larder/internal/thumb/picture"
	"larder/internal/thumb/thumbtest"
)

// inspected returns the output of a child with the argument arg.
func inspected(t testing.TB, arg string, original []byte) ([]byte, error) {
	t.Helper()
	out, _, err := runChild(t, original, arg)
	return out, err
}

// described returns the description of a picture by a child.
func described(t testing.TB, original []byte) picture.Description {
	t.Helper()
	text, err := inspected(t, picture.DescribeArg, original)
	if err != nil {
		t.Fatal(err)
	}
	d, err := picture.ParseDescription(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func describe(width, height, orientation int, taken int64) picture.Description {
	return picture.Description{Width: width, Height: height, Orientation: orientation, TakenAt: taken}
}

// Width and height are those that a viewer shows, in each format.
func TestDescribe(t *testing.T) {
	t.Parallel()
	wide := thumbtest.Quarters(64, 48)
	taken := time.Date(2025, 7, 14, 18, 30, 59, 0, time.UTC).UnixMilli()
	exif := thumbtest.CameraEXIF(binary.LittleEndian, 6, "2025:07:14 18:30:59", "")
	for what, c := range map[string]struct {
		original []byte
		want     picture.Description
	}{
		"JPEG":             {thumbtest.JPEG(wide), describe(64, 48, 1, 0)},
		"JPEG with EXIF":   {thumbtest.InJPEG(thumbtest.JPEG(wide), exif), describe(48, 64, 6, taken)},
		"PNG":              {thumbtest.PNG(wide), describe(64, 48, 1, 0)},
		"PNG with EXIF":    {thumbtest.InPNG(thumbtest.PNG(wide), exif), describe(48, 64, 6, taken)},
		"GIF":              {thumbtest.GIF(wide), describe(64, 48, 1, 0)},
		"WebP":             {thumbtest.WebP, describe(64, 48, 1, 0)},
		"WebP with EXIF":   {thumbtest.InWebP(thumbtest.Lossy, exif, 64, 48), describe(48, 64, 6, taken)},
		"BMP":              {bmpOf(t, wide), describe(64, 48, 1, 0)},
		"TIFF":             {tiffOf(t, wide), describe(64, 48, 1, 0)},
		"HEIC in tiles":    {thumbtest.HEIC, describe(64, 48, 1, 0)},
		"AVIF":             {thumbtest.AVIF, describe(64, 48, 1, 0)},
		"100,000,000 px":   {thumbtest.HugePNG(10_000, 10_000), describe(10_000, 10_000, 1, 0)},
		"only a beginning": {thumbtest.JPEG(thumbtest.Quarters(640, 480))[:1000], describe(640, 480, 1, 0)},
	} {
		if got := described(t, c.original); got != c.want {
			t.Errorf("%s: %+v, want %+v", what, got, c.want)
		}
	}
}

// Four of the eight orientations exchange width and height. Invalid orientations count as 1.
func TestDescribeOrientation(t *testing.T) {
	t.Parallel()
	for orientation := range uint16(10) {
		exif := thumbtest.EXIF(binary.BigEndian, orientation)
		want := describe(64, 48, int(orientation), 0)
		switch {
		case orientation < 1 || orientation > 8:
			want.Orientation = 1
		case orientation >= 5:
			want.Width, want.Height = 48, 64
		}
		if got := described(t, thumbtest.InJPEG(thumbtest.JPEG(thumbtest.Quarters(64, 48)), exif)); got != want {
			t.Errorf("orientation %d: %+v, want %+v", orientation, got, want)
		}
	}
}

// TakenAt is the time in UTC: a time with an offset is converted, and a time without an offset
// counts as UTC. TakenAt is 0 for a text that is not a time.
func TestDescribeTime(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		text, offset string
		want         string
	}{
		"without offset": {"2024:02:29 23:59:59", "", "2024-02-29T23:59:59Z"},
		"east":           {"2024:02:29 23:59:59", "+02:00", "2024-02-29T21:59:59Z"},
		"west":           {"2024:12:31 20:00:00", "-08:00", "2025-01-01T04:00:00Z"},
		"blank offset":   {"2024:02:29 23:59:59", "   :  ", "2024-02-29T23:59:59Z"},
		"old":            {"1900:01:01 00:00:00", "", "1900-01-01T00:00:00Z"},
		"too old":        {"1899:12:31 23:59:59", "", ""},
		"too old there":  {"1900:01:01 00:00:00", "+02:00", ""},
		"too late there": {"9999:12:31 23:59:59", "-02:00", ""},
		"no such day":    {"2023:02:29 12:00:00", "", ""},
		"zeros":          {"0000:00:00 00:00:00", "", ""},
		"blanks":         {"    :  :     :  :  ", "", ""},
		"words":          {"yesterday", "", ""},
	} {
		var want int64
		if c.want != "" {
			when, err := time.Parse(time.RFC3339, c.want)
			if err != nil {
				t.Fatal(err)
			}
			want = when.UnixMilli()
		}
		exif := thumbtest.CameraEXIF(binary.BigEndian, 1, c.text, c.offset)
		if got := described(t, thumbtest.InJPEG(thumbtest.JPEG(thumbtest.Quarters(8, 8)), exif)).TakenAt; got != want {
			t.Errorf("%s: %s, want %q", what, time.UnixMilli(got).UTC(), c.want)
		}
	}
}

// EXIF in HEIF is an item of its own.
func TestDescribeHEIF(t *testing.T) {
	t.Parallel()
	exif := thumbtest.CameraEXIF(binary.BigEndian, 6, "2025:07:14 18:30:59", "+02:00")
	taken := time.Date(2025, 7, 14, 16, 30, 59, 0, time.UTC).UnixMilli()
	for _, turned := range []bool{false, true} {
		want := describe(4032, 3024, 1, taken)
		if turned {
			want.Width, want.Height = 3024, 4032
		}
		if got := described(t, thumbtest.HEIFHead(4032, 3024, turned, exif)); got != want {
			t.Errorf("turned %t: %+v, want %+v", turned, got, want)
		}
	}
}

// The child refuses a file that is not a picture, and ParseDescription refuses an invalid text.
func TestDescribeNothing(t *testing.T) {
	t.Parallel()
	heif := thumbtest.HEIFHead(4032, 3024, false, nil)
	for what, original := range map[string][]byte{
		"nothing": {}, "text": []byte("hello"), "a cut JPEG": thumbtest.JPEG(thumbtest.Quarters(8, 8))[:20],
		"a cut HEIF": heif[:len(heif)/2], "HEIF without a size": thumbtest.HEIFHead(0, 0, false, nil),
		"SVG": []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>`),
	} {
		if text, err := inspected(t, picture.DescribeArg, original); err == nil {
			t.Errorf("%s is described as %q", what, text)
		}
	}
	for _, text := range []string{"", "1 1 1", "0 1 1 0", "1 0 1 0", "1048577 1 1 0", "1 1048577 1 0", "1 1 0 0",
		"1 1 9 0", "1 1 1 253402300800000", "1 1 1 -2208988800001", "a b c d", "-1 1 1 0",
		"99999999999999999999 1 1 0"} {
		if d, err := picture.ParseDescription(text); err == nil {
			t.Errorf("%q is parsed as %+v", text, d)
		}
	}
	for _, text := range []string{"1048576 1048576 8 253402300799999", "1 1 1 -2208988800000"} {
		if _, err := picture.ParseDescription(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The hashes are those of the JavaScript implementation, thumbhash 0.1.1, for the same pixels.
func TestThumbHash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width, height int
		transparent   bool // in a corner
		want          string
	}{
		{60, 40, false, "9ff805158463506762658a57960895a4daa99f6f0a"},
		{40, 60, false, "5e08061d06365445a3589569875408999f6cfb60b2"},
		{100, 100, false, "1ff8010f0040436057572a03243328496475a5fbaa5f4c00"},
		{60, 40, true, "60f88513841d9750a6777ad8979f5f0940871075436787"},
		{100, 9, false, "1de909218c40469363785889967ffeb89a"},
	} {
		p := image.NewNRGBA(image.Rect(0, 0, c.width, c.height))
		for y := range c.height {
			for x := range c.width {
				if !c.transparent || x*3+y*5 >= 60+x*y%50 {
					p.SetNRGBA(x, y, color.NRGBA{uint8(x*7 + y*3), uint8(x*2 + y*11), uint8(x * y), 255})
				}
			}
		}
		hash, err := inspected(t, picture.HashArg, thumbtest.PNG(p))
		if err != nil || hex.EncodeToString(hash) != c.want {
			t.Errorf("%d by %d, transparent %t: %x, %v, want %s", c.width, c.height, c.transparent, hash, err, c.want)
		}
		if len(hash) > picture.MaxHash {
			t.Errorf("%d by %d: %d bytes", c.width, c.height, len(hash))
		}
	}
	if hash, err := inspected(t, picture.HashArg, gray(t, 7000, 7143)); err == nil {
		t.Errorf("a picture of 50,001,000 pixels has the hash %x", hash)
	}
	if hash, err := inspected(t, picture.HashArg, bytes.Repeat([]byte("x"), 100)); err == nil {
		t.Errorf("a text has the hash %x", hash)
	}
}

// The processes that describe and hash are confined as the one that makes thumbnails.
func TestDescribeIsConfined(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "original")
	if err := os.WriteFile(path, thumbtest.PNG(thumbtest.Quarters(64, 48)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arg := range []string{picture.DescribeArg, picture.HashArg, picture.CameraArg} {
		in, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		unread, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer unread.Close()
		if err := out.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(make([]byte, 4<<20)); err == nil {
			t.Fatal("the pipe is not full")
		}
		cmd := exec.Command("/proc/self/exe", picture.Command, arg)
		cmd.Stdin, cmd.Stdout, cmd.Env = in, out, []string{} // the child waits until there is room in the pipe
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out.Close()
		var status []byte
		for begun := time.Now(); !bytes.Contains(status, []byte("Seccomp:\t2\n")); {
			if time.Since(begun) > time.Minute {
				t.Errorf("%s: the child is not confined: %s", arg, status)
				break
			}
			if status, err = os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)); err != nil {
				t.Fatal(err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
}

package e2e

import (
	"testing"
	"time"

	"larder/internal/thumb/thumbtest"
)

// I upload a photograph, and its folder soon tells its size, when it was taken, and has a preview.
func TestPictureProperties(t *testing.T) {
	t.Parallel()
	admin := newSite(t).start(t).admin(t)
	photo := thumbtest.Photograph(640, 480, 8, "2025:07:14 18:30:59", "")
	id := admin.upload(t, "/public", "photo.jpg", photo, nil).ID
	var got struct {
		File struct {
			Width, Height, Orientation int
			TakenAt                    int64
			Thumbhash                  string
		}
	}
	until(t, "the properties of the picture", func() bool {
		admin.do(t, "GET", "/api/files/"+id, nil).data(t, 200, &got)
		return got.File.Width > 0
	})
	taken := time.Date(2025, 7, 14, 18, 30, 59, 0, time.UTC).UnixMilli()
	if f := got.File; f.Width != 480 || f.Height != 640 || f.Orientation != 8 || f.TakenAt != taken || f.Thumbhash == "" {
		t.Errorf("%+v", f)
	}
}

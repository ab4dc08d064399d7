package api_test

import (
	"testing"

	"larder/internal/api"
	"larder/internal/apptest"
	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// The pictures that can be covers are those that can have a thumbnail: all types of pictures except
// drawings. The types are those that uploads get, and some that only a client claims.
func TestCoversAreRasterPictures(t *testing.T) {
	t.Parallel()
	types := map[string]bool{
		"image/avif": true, "image/bmp": true, "image/gif": true, "image/heic": true, "image/heic-sequence": true,
		"image/heif": true, "image/heif-sequence": true, "image/jpeg": true, "image/jxl": true, "image/png": true,
		"image/tiff": true, "image/vnd.adobe.photoshop": true, "image/webp": true, "image/x-icon": true,
		"image/x-unknown": true, "image/svg": true,
		"image/svg+xml": false, "": false, "image": false, "video/mp4": false, "audio/mpeg": false, "font/woff2": false,
		"text/html": false, "text/plain; charset=utf-8": false, "application/pdf": false,
		"application/octet-stream": false, "application/image/png": false,
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for mimeType, want := range types {
			var cover bool
			err := d.Read(t.Context()).QueryRow("SELECT "+db.CoverPicture+
				" FROM (SELECT 1 AS kind, CAST($1 AS TEXT) AS mime_type) c", mimeType).Scan(&cover)
			if raster := api.IsRaster(mimeType); err != nil || cover != want || raster != want {
				t.Errorf("%q: cover %t, %v, raster %t, want %t", mimeType, cover, err, raster, want)
			}
		}
	})
}

// Listings contain the covers of folders, as ids of pictures whose thumbnails the caller may have.
// Details contain no covers, and listings contain only pictures that the caller may download.
func TestCovers(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin, visitor := l.Admin(t), l.Client(t)
		folder := admin.Post("/api/files/folder", M{"path": "/public", "name": "album"}).OK(201).Text("file.id")
		admin.Post("/api/files/folder", M{"path": "/public", "name": "notes"}).OK(201)
		id := admin.Upload("/public/album", "photo.jpeg", photo)
		admin.Upload("/public/album", "drawing.svg", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`))
		admin.Upload("/public/notes", "a.txt", []byte("hello"))

		const path = "/api/files?path=/public"
		wantJSON(t, "a listing", admin.Get(path).OK(200).Value("items.0.covers"), []any{id})
		wantJSON(t, "without pictures", admin.Get(path).OK(200).Value("items.1.covers"), nil)
		wantJSON(t, "a visitor", visitor.Get("/api/public/files?path=/public").OK(200).Value("items.0.covers"), []any{id})
		thumbnailSize(t, visitor.Get(thumbnailPath(id, "160")))
		wantJSON(t, "details", admin.Get("/api/files/"+folder).OK(200).Value("file.covers"), nil)
		admin.Put("/api/files/"+folder, M{"coverUrl": "/i/x.png"}).OK(200)
		wantJSON(t, "a chosen cover", admin.Get(path).OK(200).Value("items.0.covers"), nil)
		admin.Put("/api/files/"+folder, M{"coverUrl": nil}).OK(200)
		admin.Put("/api/files/"+folder, M{"accessPassword": "open sesame"}).OK(200)
		wantJSON(t, "behind a password", visitor.Get("/api/public/files?path=/public").OK(200).Value("items.0.covers"), nil)
	})
}

package api_test

import (
	"testing"

	"larder/internal/apptest"
)

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

package files_test

import (
	"strings"
	"testing"
	"time"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/files"
)

// A search with a filter finds the files of a kind, an age, a size or an owner at any depth, also
// without a text.
func TestSearchFilter(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		h.createFolder(h.ann, "/home/ann/trip")
		july := time.Date(2025, 7, 4, 0, 0, 0, 0, time.UTC).UnixMilli()
		h.takenPicture(h.ann, "/home/ann/trip/lake.jpg", "lake", time.UnixMilli(july), 3, 2)
		begin := h.clock().UnixMilli()
		for name, mimeType := range map[string]string{"film.mp4": "video/mp4", "song.flac": "audio/flac",
			"notes.txt": "text/plain; charset=utf-8", "paper.pdf": "application/pdf",
			"table.xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
			"text.odt":   "application/vnd.oasis.opendocument.text", "all.zip": "application/zip", "disk.img": ""} {
			h.mustUpload(h.ann, "/home/ann/trip/"+name, name)
			h.exec("UPDATE entries SET mime_type = $1 WHERE name = $2", mimeType, name)
		}
		// The rule makes this file one with a decision of its own.
		h.addRule(access.Rule{Pattern: "/home/ann/trip/song.flac", Effect: access.Allow, Role: access.User,
			Permissions: access.Set(access.Read)})
		four, eight := int64(4), int64(8)
		afterJuly, later := july+1, begin+1
		for _, c := range []struct {
			name, search string
			filter       files.SearchFilter
			want         string
		}{
			{"pictures", "", files.SearchFilter{Types: files.ImageTypes}, "lake.jpg"},
			{"videos", "", files.SearchFilter{Types: files.VideoTypes}, "film.mp4"},
			{"audio", "", files.SearchFilter{Types: files.AudioTypes}, "song.flac"},
			{"documents", "", files.SearchFilter{Types: files.DocumentTypes}, "notes.txt paper.pdf table.xlsx text.odt"},
			{"archives", "", files.SearchFilter{Types: files.ArchiveTypes}, "all.zip"},
			{"with a text", "t.o", files.SearchFilter{Types: files.DocumentTypes}, "text.odt"},
			{"from the time at which it was taken", "lake", files.SearchFilter{From: &july}, "lake.jpg"},
			{"from later", "lake", files.SearchFilter{From: &afterJuly}, ""},
			{"before the time at which it was taken", "", files.SearchFilter{To: &july}, ""},
			{"before later", "", files.SearchFilter{To: &afterJuly}, "lake.jpg"},
			{"from the last change", "film", files.SearchFilter{From: &begin}, "film.mp4"},
			{"after the last change", "film", files.SearchFilter{From: &later}, ""},
			{"at most 4 bytes", "", files.SearchFilter{MaxSize: &four}, "lake.jpg"},
			{"exactly 8 bytes", "", files.SearchFilter{MinSize: &eight, MaxSize: &eight}, "disk.img film.mp4 text.odt"},
			{"of ann", "lake", files.SearchFilter{OwnerID: "ann"}, "lake.jpg"},
			{"of bob", "lake", files.SearchFilter{OwnerID: "bob"}, ""},
		} {
			got := h.listNames(h.ann, files.ListQuery{Path: mustParsePath("/home"), Search: c.search, Filter: c.filter})
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s: %q, want %s", c.name, got, c.want)
			}
		}
		for name, q := range map[string]files.ListQuery{
			"folders":           {Type: "folder", Filter: files.SearchFilter{Types: files.ImageTypes}},
			"unknown types":     {Filter: files.SearchFilter{Types: "folder"}},
			"an empty time":     {Filter: files.SearchFilter{From: &july, To: &july}},
			"no possible sizes": {Filter: files.SearchFilter{MinSize: &eight, MaxSize: &four}},
		} {
			q.Path, q.Page, q.Limit = mustParsePath("/home"), 1, 1
			_, err := h.tree.List(t.Context(), h.ann, q)
			h.wantFault(name, err, fault.Invalid)
		}
	})
}

// A filter by time finds no file that the account may not download, because the time at which a
// picture was taken is a part of its content.
func TestTimeOfAFileThatCannotBeDownloaded(t *testing.T) {
	eachFixture(t, func(t *testing.T, h *fixture) {
		july := time.Date(2025, 7, 4, 0, 0, 0, 0, time.UTC)
		sea := h.takenPicture(h.admin, "/public/sea.jpg", "sea", july, 3, 2)
		from := july.UnixMilli()
		names := func(a access.Actor) string {
			return strings.Join(h.listNames(a, files.ListQuery{Path: mustParsePath("/public"),
				Filter: files.SearchFilter{From: &from}}), " ")
		}
		below := mustParsePath("/public")
		counts := func(a access.Actor) (n int) {
			months, err := h.tree.Timeline(t.Context(), a, files.TimelineQuery{Below: &below})
			h.must(err)
			for _, m := range months {
				n += len(m.Ratios)
			}
			return n
		}
		if got := names(h.bob); got != "sea.jpg" || counts(h.bob) != 1 {
			t.Errorf("with the right: %q, %d in the timeline", got, counts(h.bob))
		}
		h.setPassword(sea.ID, "a password")
		if got := names(h.bob); got != "" || counts(h.bob) != 0 {
			t.Errorf("with a password: %q, %d in the timeline", got, counts(h.bob))
		}
		h.exec("UPDATE entries SET password_hash = NULL, password_id = NULL WHERE id = $1", sea.ID)
		// The rule that names the file makes it one with a decision of its own.
		for _, pattern := range []string{"/public/**", "/public/sea.jpg"} {
			h.addRule(access.Rule{Pattern: pattern, Effect: access.Deny, Role: access.User, Priority: 9,
				Permissions: access.Set(access.Download)})
			if got := names(h.bob); got != "" || counts(h.bob) != 0 {
				t.Errorf("without the right by %s: %q, %d in the timeline", pattern, got, counts(h.bob))
			}
		}
	})
}

func TestGroupOf(t *testing.T) {
	t.Parallel()
	for mimeType, want := range map[string]files.TypeGroup{"image/svg+xml": "image", "video/mp4": "video",
		"audio/flac": "audio", "text/plain; charset=utf-8": "document", "application/pdf": "document",
		"application/vnd.oasis.opendocument.text": "document", "application/zip": "archive", "application/octet-stream": "",
		"application/pdfx": "", "": ""} {
		if got := files.GroupOf(mimeType); got != want {
			t.Errorf("%q: %q, want %q", mimeType, got, want)
		}
	}
}

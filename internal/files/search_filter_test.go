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
			{"pictures", "", files.SearchFilter{Kind: files.ImageFiles}, "lake.jpg"},
			{"videos", "", files.SearchFilter{Kind: files.VideoFiles}, "film.mp4"},
			{"audio", "", files.SearchFilter{Kind: files.AudioFiles}, "song.flac"},
			{"documents", "", files.SearchFilter{Kind: files.DocumentFiles}, "notes.txt paper.pdf table.xlsx text.odt"},
			{"archives", "", files.SearchFilter{Kind: files.ArchiveFiles}, "all.zip"},
			{"with a text", "t.o", files.SearchFilter{Kind: files.DocumentFiles}, "text.odt"},
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
			"folders":           {Type: "folder", Filter: files.SearchFilter{Kind: files.ImageFiles}},
			"an empty time":     {Filter: files.SearchFilter{From: &july, To: &july}},
			"no possible sizes": {Filter: files.SearchFilter{MinSize: &eight, MaxSize: &four}},
		} {
			q.Path, q.Page, q.Limit = mustParsePath("/home"), 1, 1
			_, err := h.tree.List(t.Context(), h.ann, q)
			h.wantFault(name, err, fault.Invalid)
		}
	})
}

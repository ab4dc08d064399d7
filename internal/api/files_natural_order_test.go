package api_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// Listings, WebDAV, archives and shares have one order of names: numbers count by their value, case
// does not count, equal names differ by their exact form.
func TestNamesAreOrderedNaturally(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		alice := l.User(t, "alice")
		key := davKey(alice, M{"protocol": "webdav", "permissions": []string{"read", "write"}, "uploadPath": "/home/alice"})
		const dir = "/home/alice/order"
		folder := mkdir(alice, "/home/alice", "order")
		folders := []string{"Tag 2", "tag 10"}
		names := []string{"001", "01", "1", "1 b", "２", "10", "9999999999", "10000000000", "IMG_9.jpg", "IMG_10.jpg",
			"lake 2", "Lake 3", "lake 10", "ü", "日記9", "日記10"}
		for _, name := range []string{"tag 10", "Tag 2"} {
			mkdir(alice, dir, name)
		}
		for i := range names {
			alice.Upload(dir, names[i*5%len(names)], []byte("x"))
		}
		all := slices.Concat(folders, names)
		back := slices.Clone(names)
		slices.Reverse(back)
		wantStrings(t, "by name", listNames(alice, dir, "sort", "name"), all...)
		wantStrings(t, "without sort", listNames(alice, dir), all...)
		wantStrings(t, "backwards", listNames(alice, dir, "sort", "name", "order", "desc"),
			slices.Concat([]string{"tag 10", "Tag 2"}, back)...)
		wantStrings(t, "by size", listNames(alice, dir, "sort", "size"), all...)
		for _, limit := range []int{1, 5, 7} {
			var paged []string
			for page := 1; page <= (len(all)+limit-1)/limit; page++ {
				paged = append(paged, listNames(alice, dir, "sort", "name", "limit", fmt.Sprint(limit), "page",
					fmt.Sprint(page))...)
			}
			wantStrings(t, fmt.Sprintf("in pages of %d", limit), paged, all...)
		}
		wantStrings(t, "search", listNames(alice, "/home/alice", "search", "1", "sort", "name"), "tag 10", "001", "01", "1",
			"1 b", "10", "10000000000", "IMG_10.jpg", "lake 10", "日記10")

		var members []string
		for _, one := range parseMultistatus(t, "PROPFIND", dav(key.In(t), "PROPFIND", dir, nil, "Depth", "1"))[1:] {
			at := strings.TrimSuffix(one.path(t), "/")
			members = append(members, at[strings.LastIndexByte(at, '/')+1:])
		}
		wantStrings(t, "PROPFIND", members, all...)

		body := getZip(alice, folder).OK(200).Body
		archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatal(err)
		}
		var zipped []string
		for _, f := range archive.File {
			zipped = append(zipped, f.Name)
		}
		wantStrings(t, "archive", zipped, slices.Concat(names, []string{"Tag 2/", "tag 10/"})...)

		shown := listShare(l.Client(t), shareEntry(alice, folder), "/").OK(200).Names("items")
		wantStrings(t, "share", shown, all...)

		id := entryIDOf(alice, dir, "lake 10")
		alice.Put("/api/files/"+id, M{"name": "lake 2.5"}).OK(200)
		wantStrings(t, "renamed", listNames(alice, dir, "search", "lake", "sort", "name"), "lake 2", "lake 2.5", "Lake 3")
	})
}

package api_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// shareEntry shares an entry and returns the share's id.
func shareEntry(c *apptest.Client, entry string, more ...M) string {
	return c.Post("/api/shares/", M{"fileId": entry}.With(more...)).OK(201).Text("share.id")
}

// visitShare views a share.
func visitShare(c *apptest.Client, id string) *apptest.Reply { return c.Get("/api/shares/" + id) }

// verifySharePassword sends the password of a share. The client keeps the cookie of a success.
func verifySharePassword(c *apptest.Client, id, password string, header ...string) *apptest.Reply {
	return c.Post("/api/shares/"+id+"/verify", M{"password": password}, header...)
}

// shareDownload requests a download address of a share.
func shareDownload(c *apptest.Client, share string, query ...string) string {
	return c.Get("/api/shares/" + share + "/download" + strings.Join(query, "")).OK(200).Text("url")
}

// listShare lists a folder of a shared folder.
func listShare(c *apptest.Client, share, path string, more ...string) *apptest.Reply {
	return c.Get("/api/shares/" + share + "/files?path=" + url.QueryEscape(path) + strings.Join(more, ""))
}

// shareNames returns the names in a listing of a share, folders with a slash.
func shareNames(t *testing.T, c *apptest.Client, share, path string, more ...string) []string {
	t.Helper()
	r := listShare(c.In(t), share, path, more...).OK(200)
	list := []string{}
	for i, name := range r.Names("items") {
		if r.Text(fmt.Sprintf("items.%d.type", i)) == "folder" {
			name += "/"
		}
		list = append(list, name)
	}
	return list
}

package api_test

import (
	"strings"
	"testing"

	"larder/internal/apptest"
)

// Paths of the addresses that mails link to.
const (
	verifyPath = "/api/auth/verify-email"
	resetPath  = "/app/reset"
)

// mailLink returns the address in a mail that leads to path, with its token. It fails the test if
// the mail links to another host.
func mailLink(t *testing.T, path string, mail apptest.Mail) (address, token string) {
	t.Helper()
	before := apptest.BaseURL + path + "?token="
	_, rest, found := strings.Cut(mail.Text, before)
	token = strings.Fields(rest + " ")[0]
	if !found || len(token) < 43 {
		t.Fatalf("no link to %s in %q", before, mail.Text)
	}
	return before + token, token
}

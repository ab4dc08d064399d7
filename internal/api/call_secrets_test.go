package api_test

import (
	"strings"
	"testing"

	"larder/internal/apptest"
)

// Abuse case C114: the address of a token or link is never in the log, however the request writes
// it.
func TestSecretAddressesAreNotLogged(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		c := l.Client(t)
		for _, path := range []string{
			"/api/gateway/download/s3cretTokenOrLink", "/api/gateway/%64ownload/s3cretTokenOrLink",
			"/api/gateway/download/s3cretTokenOrLink/", "//api/gateway/download/s3cretTokenOrLink",
			"/api/i/s3cretTokenOrLink.png", "/api/%69/s3cretTokenOrLink.png", "/api/i/s3cretTokenOrLink.png/",
			"/API/i/s3cretTokenOrLink",
			"/api/shares/s3cretTokenOrLink", "/api/shares/s3cretTokenOrLink/download", "/share/s3cretTokenOrLink",
			"/share/s3cretTokenOrLink/", "/share/x/s3cretTokenOrLink",
			"//share/s3cretTokenOrLink", "/Share/s3cretTokenOrLink", "/%73hare/s3cretTokenOrLink",
			"/share%2fs3cretTokenOrLink",
		} {
			c.Get(path)
		}
		for _, path := range []string{"/public/share/aFileOfSomebodys", "/share", "/shares/aFile"} {
			c.Get(path)
			if !strings.Contains(l.Log.String(), "path="+path+" ") &&
				!strings.Contains(l.Log.String(), `"path":"`+path+`"`) {
				t.Errorf("the log has no record of %s: %s", path, l.Log)
			}
		}
		if strings.Contains(l.Log.String(), "s3cretTokenOrLink") {
			t.Errorf("the log reveals: %s", l.Log)
		}
	})
}

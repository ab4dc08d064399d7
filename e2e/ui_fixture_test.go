package e2e

import (
	encoding "encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/thumb/thumbtest"
)

// uiFixture executes the requests of UI scenarios that a page cannot execute.
type uiFixture struct {
	site          *process // the service of the scenarios
	accounts      int      // made by createAccount
	mails         *mailServer
	keyed         *client       // of it
	faultSite     *process      // a second service, for faults
	relay         *relay        // in front of the second service
	vault         bool          // the first service has its second provider
	storesCreated bool          // the second service has its stores
	bucket        s3test.Bucket // made by createBucket
	moves         int           // made by createMove
	held          *heldBucket   // of the last one
	builds        *buildProxy
}

// lan starts the second service, which is reached by plain http and a host name of a local network,
// and returns its address.
func (s *uiFixture) lan(t *testing.T) string {
	t.Helper()
	site := newSite(t)
	site.keepPort(t)
	s.relay = newRelay(t, site.env["LARDER_LISTEN"])
	_, port, _ := strings.Cut(s.relay.address, ":")
	base := "http://lan.test:" + port
	site.set("LARDER_BASE_URL", base, "LARDER_ALLOW_PRIVATE_ENDPOINTS", "127.0.0.0/8")
	s.faultSite = site.start(t)
	createUsers(t, s.faultSite)
	return base
}

// do executes a request and returns the answer.
func (s *uiFixture) do(t *testing.T, what string, with json.RawMessage) any {
	t.Helper()
	switch what {
	case "expireShare":
		s.expireShare(t, with)
	case "ageShare": // a share that was made for two days ends in 23 hours
		s.ageShare(t, with)
	case "createVault": // a second provider, in which accounts may do everything
		s.createVault(t)
	case "createAccount":
		return s.createAccount(t, with)
	case "photographs":
		return photographs(t, with)
	case "startMail": // the first service sends mail
		s.mails = newMailServer(t)
		s.site.admin(t).do(t, "PATCH", "/api/admin/settings", s.mails.settings(t)).want(t, 200)
	case "mailServer": // for an administrator to connect
		s.mails = newMailServer(t)
		return s.mails.settings(t)
	case "stopMail":
		s.site.admin(t).do(t, "PATCH", "/api/admin/settings", object{"emailEnabled": false}).want(t, 200)
	case "cutMail": // the mail server cannot be reached
		s.mails.relay.set(string(with) == "true")
	case "mailedCode":
		return s.mailedCode(t, with)
	case "siteSettings": // of the first service
		s.site.admin(t).do(t, "PATCH", "/api/admin/settings", with).want(t, 200)
	case "invite":
		var made struct{ Invite struct{ Code string } }
		s.site.admin(t).do(t, "POST", "/api/admin/invites", with).data(t, 201, &made)
		return made.Invite.Code
	case "mailedLink":
		return s.mailedLink(t, with)
	case "countMails":
		return s.mails.Len()
	case "expireMailed":
		s.exec(t, "UPDATE mailed_tokens SET expires_at = created_at")
	case "createManyFiles": // ten thousand files in the first service; all further requests concern the second
		createManyFiles(t, s.site.admin(t), s.keyed)
	case "settings":
		s.faultSite.admin(t).do(t, "PATCH", "/api/admin/settings", with).want(t, 200)
	case "disconnect":
		s.relay.set(true)
	case "reconnect":
		s.relay.set(false)
	case "kill":
		s.faultSite.kill()
	case "start":
		s.faultSite = s.faultSite.site.start(t)
	case "reset": // resets the state for the next scenario
		s.reset(t)
	case "expireUploads":
		s.expire(t)
	case "createBucket": // for an administrator or a visitor to connect
		s.bucket = s3test.New(t)
		return s.bucket
	case "allowSite": // the pages of the first service, in that bucket
		allowPages(t, s.bucket, s.site.url)
	case "bucketKeys":
		return s.bucket.Keys(t)
	case "emptyBucket":
		s.emptyBucket(t)
	case "expireFree": // all sessions of free mode
		s.exec(t, "UPDATE free_sessions SET expires_at = created_at")
	case "createMove": // a disk with a mount, and a bucket to move it to
		return s.createMove(t)
	case "holdMove": // that bucket takes so many objects more
		var n int
		if err := json.Unmarshal(with, &n); err != nil {
			t.Fatal(err)
		}
		s.held.hold(n)
	case "releaseMove":
		s.held.release()
	case "loseObjects": // of a disk
		s.loseObjects(t, with)
	case "startTrouble": // another replica, and a storage that does not answer
		return s.startTrouble(t, with)
	case "endTrouble":
		s.endTrouble(t, with)
	case "startBuilds": // the first service at another address, which can have the worker of another build
		s.builds = newBuildProxy(t, s.site.url)
		return s.builds.url
	case "nextBuild":
		s.builds.next(t, with)
	case "createStores":
		s.stores(t)
	case "sums":
		return s.sums(t, with)
	default:
		t.Fatalf("a scenario asks for %q", what)
	}
	return nil
}

// emptyBucket deletes the objects of the bucket, as another client of it would.
func (s *uiFixture) emptyBucket(t *testing.T) {
	t.Helper()
	for _, key := range s.bucket.Keys(t) {
		_, err := s.bucket.SDK(t).DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &s.bucket.Name, Key: &key})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// createAccount creates an account of its own for a scenario, in a language, and returns its name.
func (s *uiFixture) createAccount(t *testing.T, with json.RawMessage) string {
	t.Helper()
	s.accounts++
	name := fmt.Sprintf("mia%d", s.accounts)
	s.site.admin(t).createUser(t, name, adminPassword, "user")
	login(t, name, adminPassword, s.site.url).do(t, "PUT", "/api/users/me/settings", with).want(t, 200)
	return name
}

// photographs returns pictures with EXIF fields as a camera makes them. Each has its own size, and
// either a time or all other fields that the details show.
func photographs(t *testing.T, with json.RawMessage) []object {
	t.Helper()
	var wanted []struct {
		Name          string
		Width, Height int
		Taken         string // in the form of EXIF
		Holiday       bool   // the EXIF fields of thumbtest.Holiday instead of the time
	}
	if err := json.Unmarshal(with, &wanted); err != nil {
		t.Fatal(err)
	}
	made := []object{}
	for _, p := range wanted {
		picture := thumbtest.Photograph(p.Width, p.Height, 1, p.Taken, "")
		if p.Holiday {
			exif := thumbtest.Holiday(encoding.LittleEndian)
			picture = thumbtest.InJPEG(thumbtest.JPEG(thumbtest.Quarters(p.Width, p.Height)), exif)
		}
		made = append(made, object{"name": p.Name, "bytes": picture})
	}
	return made
}

// nextMail waits for the next mail to an address.
func (s *uiFixture) nextMail(t *testing.T, with json.RawMessage) apptest.Mail {
	t.Helper()
	var to string
	if err := json.Unmarshal(with, &to); err != nil {
		t.Fatal(err)
	}
	return s.mails.mail(t, to)
}

// mailedLink returns the link in the next mail to an address.
func (s *uiFixture) mailedLink(t *testing.T, with json.RawMessage) string {
	t.Helper()
	address, _ := link(t, s.nextMail(t, with))
	return address
}

// mailedCode returns the code in the next mail to an address.
func (s *uiFixture) mailedCode(t *testing.T, with json.RawMessage) string {
	t.Helper()
	m := s.nextMail(t, with)
	found := mailedCode.FindStringSubmatch(m.Text)
	if found == nil {
		t.Fatalf("no code in %q:\n%s", m.Subject, m.Text)
	}
	return found[1]
}

// reset ends all faults.
func (s *uiFixture) reset(t *testing.T) {
	t.Helper()
	s.relay.set(false)
	select {
	case <-s.faultSite.exited:
		s.faultSite = s.faultSite.site.start(t)
	default:
	}
	settings := object{"rateLimitRequestsPerMinute": 10_000}
	s.faultSite.admin(t).do(t, "PATCH", "/api/admin/settings", settings).want(t, 200)
}

// expireShare expires a share of the first service by its id, since no lifetime is shorter than a
// minute.
func (s *uiFixture) expireShare(t *testing.T, with json.RawMessage) {
	t.Helper()
	var share struct{ ID string }
	if err := json.Unmarshal(with, &share); err != nil {
		t.Fatal(err)
	}
	s.exec(t, "UPDATE shares SET expires_at = created_at WHERE id = ?", share.ID)
}

func (s *uiFixture) ageShare(t *testing.T, with json.RawMessage) {
	t.Helper()
	var share struct{ ID string }
	if err := json.Unmarshal(with, &share); err != nil {
		t.Fatal(err)
	}
	const hours25 = 25 * 3600 * 1000
	s.exec(t, "UPDATE shares SET expires_at = expires_at - ?, created_at = created_at - ? WHERE id = ?",
		hours25, hours25, share.ID)
}

// createVault mounts a second provider at /vault, unless it is there.
func (s *uiFixture) createVault(t *testing.T) {
	t.Helper()
	if s.vault {
		return
	}
	s.vault = true
	admin := s.site.admin(t)
	var made struct{ Provider struct{ ID string } }
	admin.do(t, "POST", "/api/admin/storage/providers", object{"name": "vault", "type": "store_a", "bucket": "vault"}).
		data(t, 201, &made)
	admin.do(t, "POST", "/api/admin/mounts", object{"providerId": made.Provider.ID, "mountPath": "/vault",
		"name": "vault"}).want(t, 201)
	admin.do(t, "POST", "/api/admin/rules", object{"pathPattern": "/vault/**", "effect": "allow", "role": "user"}).
		want(t, 201)
}

// exec changes the database of the first service.
func (s *uiFixture) exec(t *testing.T, query string, values ...any) {
	t.Helper()
	d := s.site.site.sqlite(t)
	defer d.Close()
	if _, err := d.Exec(query, values...); err != nil {
		t.Fatal(err)
	}
}

// expire expires all open upload sessions in the database, since no setting shortens their lifetime
// and the clock of a separate process cannot be moved.
func (s *uiFixture) expire(t *testing.T) {
	t.Helper()
	d := s.faultSite.site.sqlite(t)
	defer d.Close()
	if _, err := d.Exec("UPDATE upload_sessions SET expires_at = created_at WHERE status = 'pending'"); err != nil {
		t.Fatal(err)
	}
}

// stores creates folders with direct uploads to a bucket: /open, which allows the site's origin;
// /shut, which does not; /headerless, which hides the headers of its answers from pages; /auto, as
// /open, with the mode that a form proposes. The tests' server always exposes its ETag, so a proxy
// does that.
func (s *uiFixture) stores(t *testing.T) {
	t.Helper()
	if s.storesCreated {
		return
	}
	s.storesCreated = true
	admin, site := s.faultSite.admin(t), s.faultSite.site.env["LARDER_BASE_URL"]
	for _, name := range []string{"open", "shut", "headerless", "auto"} {
		bucket := s3test.New(t)
		if name != "shut" {
			allowPages(t, bucket, site)
		}
		provider := bucketProvider(bucket, object{"name": name, "uploadMode": "presigned"})
		if name == "auto" {
			provider["uploadMode"] = "auto"
		}
		if name == "headerless" {
			provider["uploadDomain"] = hideHeaders(t, bucket.Endpoint)
		}
		admin.mount(t, "/"+name, admin.createProvider(t, provider))
	}
}

// allowPages sets CORS rules for the pages of a site.
func allowPages(t *testing.T, bucket s3test.Bucket, site string) {
	t.Helper()
	_, err := bucket.SDK(t).PutBucketCors(t.Context(),
		&s3.PutBucketCorsInput{Bucket: &bucket.Name, CORSConfiguration: &types.CORSConfiguration{
			CORSRules: []types.CORSRule{{AllowedOrigins: []string{site},
				AllowedMethods: []string{"GET", "HEAD", "PUT"}, AllowedHeaders: []string{"*"},
				ExposeHeaders: []string{"ETag"}}},
		}})
	if err != nil {
		t.Fatal(err)
	}
}

// hideHeaders starts a proxy that hides the headers of a store from pages, and returns its address.
func hideHeaders(t *testing.T, store string) string {
	t.Helper()
	target, err := url.Parse(store)
	if err != nil {
		t.Fatal(err)
	}
	proxy := newProxy(target)
	proxy.ModifyResponse = func(answer *http.Response) error {
		answer.Header.Del("Access-Control-Expose-Headers")
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// sums returns the SHA-256 of files' contents.
func (s *uiFixture) sums(t *testing.T, paths json.RawMessage) []string {
	t.Helper()
	var all []string
	if err := json.Unmarshal(paths, &all); err != nil {
		t.Fatal(err)
	}
	admin, sums := s.faultSite.admin(t), []string{}
	for _, path := range all {
		sums = append(sums, hash(admin.do(t, "GET", escaped(path), nil).want(t, 200).body))
	}
	return sums
}

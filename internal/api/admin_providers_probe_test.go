package api_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
)

// probeSteps are the names of the checks in order; store_a has the first five.
var probeSteps = []string{"write", "read", "range", "delete", "multipart", "copy", "presign", "cors", "clock"}

// testProvider tests a provider and checks the shape of the answer. It returns the answer and the
// failed checks.
func testProvider(t *testing.T, admin *apptest.Client, id string, steps int) (reply *apptest.Reply, failed string) {
	t.Helper()
	reply = admin.Post(providersPath+"/"+id+"/test", nil).OK(200)
	wantFields(t, "data", reply.Object()["data"], "connected", "message", "checks", "latencyMs")
	if read, measured := reply.Value("checks.2.ok"), reply.Value("latencyMs") != nil; read != measured {
		t.Errorf("range read: %v, measured: %v", read, measured)
	}
	wantStrings(t, "checks", reply.Names("checks"), probeSteps[:steps]...)
	for i, name := range reply.Names("checks") {
		check := fmt.Sprintf("checks.%d", i)
		wantFields(t, check, reply.Value(check), "name", "ok", "message", "reason")
		if reply.Text(check+".message") == "" || reply.Text(check+".reason") == "" {
			t.Errorf("%s has no message or no reason", name)
		}
		if reply.Value(check+".ok") != true {
			failed += name + " "
		}
	}
	return reply, strings.TrimSpace(failed)
}

// setCORS sets the CORS rules of a bucket.
func setCORS(t *testing.T, bucket s3test.Bucket, rule types.CORSRule) {
	t.Helper()
	_, err := bucket.SDK(t).PutBucketCors(t.Context(), &sdk.PutBucketCorsInput{
		Bucket: &bucket.Name, CORSConfiguration: &types.CORSConfiguration{CORSRules: []types.CORSRule{rule}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The test of a provider reports which operations work and leaves nothing in the store.
func TestProviderTest(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		admin := l.Admin(t)
		local := admin.Get(providersPath).OK(200).Text("providers.0.id")
		before := bucketObjects(t, l, "default")
		l.Clock.SetToNow()
		reply, failed := testProvider(t, admin, local, 5)
		wantJSON(t, "store_a: connected", reply.Value("connected"), true)
		wantJSON(t, "store_a: failed", failed, "")
		wantStrings(t, "objects in store_a", bucketObjects(t, l, "default"), before...)

		id, bucket := l.S3Provider(t, M{"pathPrefix": "a/b"})
		l.Clock.SetToNow()
		reply, failed = testProvider(t, admin, id, 9)
		wantJSON(t, "connected", reply.Value("connected"), true)
		wantJSON(t, "without CORS rules", failed, "cors")
		wantBucketObjects(t, "in the end", bucket, 0)

		all := types.CORSRule{AllowedOrigins: []string{apptest.BaseURL}, AllowedMethods: []string{"GET", "HEAD", "PUT"},
			AllowedHeaders: []string{"*"}, ExposeHeaders: []string{"ETag"}}
		setCORS(t, bucket, all)
		l.Clock.SetToNow()
		reply, failed = testProvider(t, admin, id, 9)
		wantJSON(t, "with CORS rules", failed, "")
		wantJSON(t, "message", reply.Value("message"), "The store works.")
		wantBucketObjects(t, "in the end", bucket, 0)
		for name, change := range map[string]func(*types.CORSRule){
			"another origin": func(r *types.CORSRule) { r.AllowedOrigins = []string{"https://larder.test"} },
			"no PUT":         func(r *types.CORSRule) { r.AllowedMethods = []string{"GET", "HEAD"} },
			"no GET":         func(r *types.CORSRule) { r.AllowedMethods = []string{"PUT", "HEAD"} },
			"no headers":     func(r *types.CORSRule) { r.AllowedHeaders = nil },
		} {
			rule := all
			change(&rule)
			setCORS(t, bucket, rule)
			l.Clock.SetToNow()
			reply, failed = testProvider(t, admin, id, 9)
			wantJSON(t, name, failed, "cors")
			wantJSON(t, name+": connected", reply.Value("connected"), true)
		}
		for _, none := range []string{unknownID, "x", "%27"} {
			wantStatus(t, "test of none", admin.Post(providersPath+"/"+none+"/test", nil), 404, "NOT_FOUND")
		}
	}, apptest.ReachLoopback)
}

// writeDenied answers like a store whose policy denies an operation.
func writeDenied(w http.ResponseWriter) bool {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusForbidden)
	_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>")
	return true
}

// A test that fails midway leaves nothing in the store either, and its other checks run where they
// can.
func TestProviderTestThatFailsMidway(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback)
	deletes := 0
	for name, row := range map[string]struct {
		denied    func(r *http.Request) bool
		failed    string
		connected bool
	}{
		"writing": {func(r *http.Request) bool { return r.Method == "PUT" },
			"write read range delete multipart copy presign cors", false},
		"reading": {func(r *http.Request) bool {
			return r.Method == "GET" && !r.URL.Query().Has("uploads") && !r.URL.Query().Has("uploadId")
		}, "read range delete multipart copy presign cors", false},
		"ranges": {func(r *http.Request) bool { return r.Header.Get("Range") != "" }, "range", false},
		"copies": {func(r *http.Request) bool { return r.Header.Get("X-Amz-Copy-Source") != "" }, "copy",
			true},
		"beginning parts": {func(r *http.Request) bool { return r.Method == "POST" && r.URL.Query().Has("uploads") },
			"multipart", false},
		"parts": {func(r *http.Request) bool { return r.URL.Query().Has("partNumber") }, "multipart", false},
		"completing": {func(r *http.Request) bool { return r.Method == "POST" && r.URL.Query().Has("uploadId") },
			"multipart", false},
		"deleting at first": {func(r *http.Request) bool {
			if r.Method == "DELETE" {
				deletes++
			}
			return r.Method == "DELETE" && deletes == 1
		}, "delete", false},
		"signed writes": {func(r *http.Request) bool {
			return r.Method == "PUT" &&
				r.URL.Query().Has("X-Amz-Signature")
		}, "presign cors", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			admin := l.Admin(t)
			bucket := s3test.New(t)
			setCORS(t, bucket, types.CORSRule{AllowedOrigins: []string{"*"}, AllowedMethods: []string{"GET", "PUT"},
				AllowedHeaders: []string{"*"}, ExposeHeaders: []string{"ETag"}})
			proxy := s3test.NewProxy(t, bucket)
			proxy.SetBefore(func(w http.ResponseWriter, r *http.Request) bool {
				return row.denied(r) && writeDenied(w)
			})
			id := addBucketProvider(admin, proxy.Bucket())
			l.Clock.SetToNow() // the store's clock continues
			reply, failed := testProvider(t, admin, id, 9)
			wantJSON(t, "failed", failed, row.failed)
			wantJSON(t, "connected", reply.Value("connected"), row.connected)
			wantBucketObjects(t, "in the end", bucket, 0)
		})
	}
}

// Checks of requests that clients send themselves use the upload domain and are checked like a
// browser would.
func TestProviderTestOfClientRequests(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback)
	for name, row := range map[string]struct {
		header, value string // header of the answers, "" to remove it
		failed        string
		message       string // of the check that failed
	}{
		"correct headers": {"X-Whatever", "1", "", ""},
		"no origin allowed": {"Access-Control-Allow-Origin", "", "cors",
			"The CORS rules of the bucket do not allow this site. "},
		"another origin": {"Access-Control-Allow-Origin", "https://larder.test", "cors",
			"The CORS rules of the bucket do not allow this site. "},
		"any origin": {"Access-Control-Allow-Origin", "*", "", ""},
		"no methods": {"Access-Control-Allow-Methods", "", "cors",
			"The CORS rules of the bucket do not allow this site. "},
		"GET only": {"Access-Control-Allow-Methods", "GET, HEAD", "cors",
			"The CORS rules of the bucket do not allow this site. "},
		"no headers": {"Access-Control-Allow-Headers", "", "cors",
			"The CORS rules of the bucket do not allow the header Content-Type. "},
		"other headers": {"Access-Control-Allow-Headers", "x-amz-date", "cors",
			"The CORS rules of the bucket do not allow the header Content-Type. "},
		"nothing exposed": {"Access-Control-Expose-Headers", "", "cors",
			"The CORS rules of the bucket do not expose the header ETag to pages. "},
		"something else exposed": {"Access-Control-Expose-Headers", "Content-Length, X-ETag", "cors",
			"The CORS rules of the bucket do not expose the header ETag to pages. "},
		"everything exposed":  {"Access-Control-Expose-Headers", "*", "", ""},
		"exposed in capitals": {"Access-Control-Expose-Headers", "x-amz-id-2,ETAG", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			admin := l.Admin(t)
			bucket := s3test.New(t)
			setCORS(t, bucket, types.CORSRule{AllowedOrigins: []string{apptest.BaseURL},
				AllowedMethods: []string{"GET", "PUT"}, AllowedHeaders: []string{"*"}})
			proxy := s3test.NewProxy(t, bucket)
			proxy.SetAfter(func(answer *http.Response) {
				answer.Header.Del(row.header)
				if row.value != "" {
					answer.Header.Set(row.header, row.value)
				}
			})
			id := addBucketProvider(admin, bucket, M{"uploadDomain": proxy.Endpoint})
			l.Clock.SetToNow() // the store's clock continues
			reply, failed := testProvider(t, admin, id, 9)
			wantJSON(t, "failed", failed, row.failed)
			wantJSON(t, "connected", reply.Value("connected"), true)
			for i, step := range probeSteps {
				if message := reply.Text(fmt.Sprintf("checks.%d.message", i)); step == failed &&
					!strings.HasPrefix(message, row.message) {
					t.Errorf("%s: %s", step, message)
				}
			}
			wantBucketObjects(t, "in the end", bucket, 0)
		})
	}
	t.Run("clock 6 minutes off", func(t *testing.T) {
		t.Parallel()
		l := apptest.Start(t, "sqlite", apptest.ReachLoopback)
		id, bucket := l.S3Provider(t)
		setCORS(t, bucket, types.CORSRule{AllowedOrigins: []string{apptest.BaseURL},
			AllowedMethods: []string{"GET", "PUT"}, AllowedHeaders: []string{"*"}})
		admin := l.Admin(t)
		l.Clock.SetToNow()
		l.Clock.Advance(6 * time.Minute)
		reply, failed := testProvider(t, admin, id, 9)
		wantJSON(t, "failed", failed, "clock")
		wantJSON(t, "connected", reply.Value("connected"), true)
		if message := reply.Text("checks.8.message"); !strings.HasPrefix(message,
			"The clocks of this machine and of the store differ by more than 5 minutes. ") {
			t.Error(message)
		}
	})
	t.Run("a domain without a server", func(t *testing.T) {
		t.Parallel()
		admin := l.Admin(t)
		id, bucket := l.S3Provider(t, M{"uploadDomain": "http://127.0.0.1:1"})
		l.Clock.SetToNow()
		began := time.Now()
		reply, failed := testProvider(t, admin, id, 9)
		wantJSON(t, "failed", failed, "presign cors")
		wantJSON(t, "message", reply.Value("message"),
			"The store works, but some direct access by clients does not. See the checks.")
		// as long as for an address that does not answer: abuse case C65
		if took := time.Since(began); took < 5*time.Second {
			t.Errorf("took %v", took)
		}
		wantBucketObjects(t, "in the end", bucket, 0)
	})
}

// The test uses the saved record and reveals neither credentials nor addresses (abuse cases C65,
// C115).
func TestProviderTestTellsNoSecrets(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback)
	admin := l.Admin(t)
	id, bucket := l.S3Provider(t)
	for name, row := range map[string]struct {
		change  M
		message string
	}{
		"another secret": {M{"secretAccessKey": "0123456789abcdef0123456789abcdef"},
			"The store does not accept the credentials. Enter accessKeyId and secretAccessKey again, and check the " +
				"region."},
		"another key": {M{"accessKeyId": "0123456789abcdef"},
			"The store does not accept the credentials. Enter accessKeyId and secretAccessKey again, and check the " +
				"region."},
		"another bucket": {M{"bucket": "larder-none"},
			"There is no such bucket. Create it, or check its name and the endpoint."},
		"nothing there": {M{"endpoint": "http://127.0.0.1:1"},
			"No S3 server answers correctly. Check endpoint, region and bucket, and whether this machine can reach " +
				"the endpoint."},
		"unchanged": {M{}, "The store works, but some direct access by clients does not. See the checks."},
	} {
		admin.Put(providersPath+"/"+id, row.change).OK(200)
		steps := 9
		l.Clock.SetToNow()
		reply, _ := testProvider(t, admin, id, steps)
		wantJSON(t, name, reply.Value("message"), row.message)
		wantJSON(t, name+": connected", reply.Value("connected"), name == "unchanged")
		for _, secret := range []string{bucket.SecretKey, bucket.AccessKey, bucket.Name, "127.0.0.1",
			"0123456789abcdef"} {
			if strings.Contains(string(reply.Body), secret) {
				t.Errorf("%s: the answer reveals %s: %s", name, secret, reply.Body)
			}
		}
		admin.Put(providersPath+"/"+id, M{"endpoint": bucket.Endpoint, "bucket": bucket.Name,
			"accessKeyId": bucket.AccessKey, "secretAccessKey": bucket.SecretKey}).OK(200)
	}
	wantBucketObjects(t, "in the end", bucket, 0)
}

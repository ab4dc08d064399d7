package e2e

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob/s3/s3test"
)

// A visitor without an account works in a bucket with their own credentials, and the session ends
// when they leave. The service's own store does not matter. Specification: Free-mode endpoints.
func TestAVisitorWithABucket(t *testing.T) {
	t.Parallel()
	eachSetup(t, func(t *testing.T, s *setup) {
		bucket := s3test.New(t)
		if _, err := bucket.SDK(t).PutObject(t.Context(),
			&s3.PutObjectInput{Bucket: &bucket.Name, Key: new("there/before.txt"),
				Body: strings.NewReader("old")}); err != nil {
			t.Fatal(err)
		}
		visitor := s.visitor()
		var began struct {
			User                    struct{ ID, Username, Role, DefaultPath string }
			ExpiresAt, SessionHours int64
			Provider                struct{ Type, Bucket string }
			CSRFToken               string
		}
		visitor.do(t, "POST", "/api/free-mode/init", object{
			"type": "store_b", "endpoint": bucket.Endpoint, "bucket": bucket.Name, "accessKeyId": bucket.AccessKey,
			"secretAccessKey": bucket.SecretKey,
		}).data(t, 201, &began)
		if !strings.HasPrefix(began.User.Username, "fm_") || began.SessionHours != 1 ||
			began.Provider.Bucket != bucket.Name || len(began.CSRFToken) != 32 {
			t.Errorf("the session is %+v", began)
		}
		visitor.do(t, "POST", "/api/free-mode/upload?path=/pictures", []byte("x"), "X-File-Name", "no.txt").
			fails(t, 403, "INVALID_CSRF")
		visitor.header.Set("X-CSRF-Token", began.CSRFToken)

		// characters that keys do not allow
		picture, name := contentOf("of a visitor", 6<<20+1), strings.NewReplacer("~", "-", "..", "-").Replace(oddName)

		var up struct {
			Key  string
			Size int64
		}
		visitor.do(t, "POST", "/api/free-mode/upload?path=/pictures", picture, "X-File-Name",
			strings.ReplaceAll(url.QueryEscape(name), "+", "%20")).data(t, 201, &up)
		if up.Key != "pictures/"+name || up.Size != int64(len(picture)) {
			t.Errorf("uploaded %+v", up)
		}
		if stored := keysIn(t, bucket); len(stored) != 2 || stored[up.Key] != int64(len(picture)) {
			t.Errorf("the bucket holds %v", stored)
		}
		names := func(path string) (list []string) {
			var page struct {
				Items []struct{ Key, Name, Type string }
			}
			visitor.do(t, "GET", "/api/free-mode/files?path="+url.QueryEscape(path), nil).data(t, 200, &page)
			for _, item := range page.Items {
				list = append(list, item.Type+" "+item.Name)
			}
			slices.Sort(list)
			return list
		}
		if got := names("/"); !slices.Equal(got, []string{"folder pictures", "folder there"}) {
			t.Errorf("the root lists %q", got)
		}
		if got := names("pictures"); !slices.Equal(got, []string{"file " + name}) {
			t.Errorf("pictures lists %q", got)
		}
		visitor.do(t, "GET", "/api/free-mode/files?path=../other", nil).fails(t, 403, "FORBIDDEN")

		download := "/api/free-mode/download?key=" + url.QueryEscape(up.Key)
		whole := visitor.do(t, "GET", download, nil).want(t, 200)
		if !bytes.Equal(whole.body, picture) ||
			!strings.HasPrefix(whole.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%d bytes came back of %d, %v", len(whole.body), len(picture), whole.header)
		}
		part := visitor.do(t, "GET", download, nil, "Range", "bytes=1000-1999").want(t, 206)
		if !bytes.Equal(part.body, picture[1000:2000]) {
			t.Errorf("%d bytes came back of a range of 1,000", len(part.body))
		}
		s.visitor().do(t, "GET", download, nil).fails(t, 401, "UNAUTHORIZED")

		visitor.do(t, "DELETE", "/api/free-mode/object?key="+url.QueryEscape(up.Key), nil).want(t, 200)
		if stored := keysIn(t, bucket); len(stored) != 1 || stored["there/before.txt"] != 3 {
			t.Errorf("the bucket holds %v", stored)
		}
		visitor.do(t, "POST", "/api/free-mode/logout", nil).want(t, 200)
		visitor.do(t, "GET", "/api/free-mode/files", nil).fails(t, 401, "UNAUTHORIZED")
	})
}

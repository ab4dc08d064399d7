package s3

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/blobtest"
	"larder/internal/blob/s3/s3test"
)

// send sends a request like a browser, bypassing the store.
func send(t *testing.T, method, address string, body []byte) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	client := s3test.Egress().Client()
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(content)
}

func TestPresignedRoundTrip(t *testing.T) {
	t.Parallel()
	s := open(t, newBucket(t))
	staging, key := blobtest.NewKey(), blobtest.NewKey()
	address, err := s.PresignPut(t.Context(), staging, int64(len(small)), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if status, answer := send(t, "PUT", address, []byte(small+"x")); status != 403 {
		t.Errorf("PUT of another length: %d %s", status, answer)
	}
	if status, answer := send(t, "PUT", address, []byte(small)); status != 200 {
		t.Fatalf("PUT: %d %s", status, answer)
	}
	info, err := s.Stat(t.Context(), staging)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.CopyFrom(t.Context(), key, s, staging, "text/plain", `"other"`); !errors.Is(err, blob.ErrChanged) {
		t.Errorf("copy of other bytes: %v", err)
	}
	copied, err := s.CopyFrom(t.Context(), key, s, staging, "text/plain", info.ETag)
	if err != nil || copied.Size != int64(len(small)) {
		t.Fatalf("copy: %+v, %v", copied, err)
	}
	if _, err := s.CopyFrom(t.Context(), key, s, staging, "", ""); !errors.Is(err, blob.ErrExists) {
		t.Errorf("copy over an object: %v", err)
	}
	address, err = s.PresignGet(t.Context(), key,
		blob.GetOptions{TTL: time.Minute, Disposition: `attachment; filename="a.txt"`})
	if err != nil {
		t.Fatal(err)
	}
	if status, content := send(t, "GET", address, nil); status != 200 || content != small {
		t.Errorf("GET: %d %s", status, content)
	}
	if status, _ := send(t, "GET", strings.Replace(address, string(key), string(staging), 1), nil); status != 403 {
		t.Errorf("GET of another key: %d", status)
	}
}

package provider

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"larder/internal/egress"
	"larder/internal/ident"
	"larder/internal/secret"
)

// connHandler handles the server side of a connection.
type connHandler func(conn net.Conn)

// fixedAnswer is an HTTP server that answers every request with the same text.
func fixedAnswer(text string) connHandler {
	return func(conn net.Conn) {
		defer conn.Close()
		from := bufio.NewReader(conn)
		for {
			r, err := http.ReadRequest(from)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			if _, err := io.WriteString(conn, text); err != nil {
				return
			}
		}
	}
}

// registryTo returns a registry for which all addresses lead to handler, or to a closed port if it
// is nil, and a provider there.
func registryTo(handler connHandler) (*Registry, Provider) {
	policy := &egress.Policy{
		Allow: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if handler == nil {
				return nil, syscall.ECONNREFUSED
			}
			here, there := net.Pipe()
			go handler(there)
			return here, nil
		},
	}
	r := New(Config{IDs: ident.New(rand.Reader), Now: time.Now, Egress: policy})
	return r, Provider{ID: "p", Type: PathStyle, Endpoint: "http://192.0.2.1:9000", Region: "us-east-1",
		Bucket: "bucket", AccessKeyID: "key", SecretKey: secret.Text("secret")}
}

// Abuse case C65: everything that is not an S3 server gets the same message after the same time,
// and little of its answer is read.
func TestProbeGivesOneAnswerForNonStores(t *testing.T) {
	html := "<html><body>Secret intranet</body></html>"
	page := func(status string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\nDate: %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", status,
			http.TimeFormat, len(html), html)
	}
	endless := func(conn net.Conn) {
		defer conn.Close()
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, err := io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\nContent-Type: application/xml\r\n\r\n<Error><Code>")
		for err == nil {
			_, err = io.WriteString(conn, strings.Repeat("A", 4096))
		}
	}
	for name, who := range map[string]connHandler{
		"closed": nil,
		"silent": func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) },
		"hangs up": func(conn net.Conn) {
			conn.Close()
		},
		"ssh": func(conn net.Conn) {
			_, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.9\r\n")
			_, _ = io.Copy(io.Discard, conn)
		},
		"slow": func(conn net.Conn) {
			gone := make(chan struct{})
			go func() { _, _ = io.Copy(io.Discard, conn); close(gone) }()
			for _, c := range []byte(page("200 OK")) {
				select {
				case <-gone:
					return
				case <-time.After(time.Second): // in the bubble's time
				}
				if _, err := conn.Write([]byte{c}); err != nil {
					return
				}
			}
		},
		"takes everything":       fixedAnswer("HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 0\r\n\r\n"),
		"a page":                 fixedAnswer(page("200 OK")),
		"a page with status 404": fixedAnswer(page("404 Not Found")),
		"a page with status 403": fixedAnswer(page("403 Forbidden")),
		"no such method":         fixedAnswer("HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"),
		"not implemented":        fixedAnswer("HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n"),
		"members only":           fixedAnswer("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"),
		"overloaded":             fixedAnswer("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"),
		"moved": fixedAnswer(
			"HTTP/1.1 301 Moved Permanently\r\nLocation: http://192.0.2.9/\r\nContent-Length: 0\r\n\r\n"),
		"nothing there": fixedAnswer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
		"an error code of its own": fixedAnswer(
			"HTTP/1.1 400 Bad Request\r\nContent-Length: 42\r\n\r\n<Error><Code>IntranetSecret</Code></Error>"),
		"a document, endless": endless,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, p := registryTo(who)
				began := time.Now()
				got := r.probe(t.Context(), p, "http://larder.test")
				if took := time.Since(began); took != 8*time.Second {
					t.Errorf("took %v", took)
				}
				const untried = "Not tried, since an earlier step failed."
				const message = "No S3 server answers correctly. Check endpoint, region and bucket, and whether this " +
					"machine can reach the endpoint."
				want := Report{Message: message, Findings: []Finding{
					{"write", false, message}, {"read", false, untried}, {"range", false, untried},
					{"delete", false, untried}, {"multipart", false, untried},
					{"copy", false, untried}, {"presign", false, untried}, {"cors", false, untried},
					{"clock", false, untried},
				}}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%+v", got)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A refusal in the S3 protocol is reported at once, in fixed words.
func TestProbeReportsTheStoresRefusal(t *testing.T) {
	for code, want := range map[string]string{
		"InvalidAccessKeyId": unknownMessage, "SignatureDoesNotMatch": unknownMessage, "AccessDenied": rightsMessage,
		"NoSuchBucket":      bucketMessage,
		"PermanentRedirect": regionMessage, "AuthorizationHeaderMalformed": regionMessage,
		"RequestTimeTooSkewed": clockMessage, "SlowDown": busyMessage, "QuotaExceeded": fullMessage,
	} {
		t.Run(code, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				body := "<Error><Code>" + code + "</Code><Message>geheim</Message></Error>"
				r, p := registryTo(fixedAnswer(
					fmt.Sprintf(
						"HTTP/1.1 403 Forbidden\r\nDate: %s\r\nContent-Type: application/xml\r\n"+
							"Content-Length: %d\r\n\r\n%s",
						time.Now().UTC().Add(-301*time.Second).Format(http.TimeFormat), len(body), body)))
				began := time.Now()
				got := r.probe(t.Context(), p, "http://larder.test")
				// steps that may be tried again are tried again
				if got.Connected || got.Message != want || got.Findings[0].Message != want ||
					time.Since(began) > time.Second {
					t.Errorf("after %v: %+v", time.Since(began), got)
				}
				if clock := got.Findings[8]; clock.OK || clock.Message != clockMessage {
					t.Errorf("%+v", clock)
				}
				if strings.Contains(fmt.Sprint(got), "geheim") {
					t.Errorf("the report contains the server's text: %+v", got)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A difference of more than 5 minutes is a failure, of more than 30 seconds a warning, in either
// direction.
func TestProbeComparesClocks(t *testing.T) {
	const warning = "The clocks of this machine and of the store differ by more than 30 seconds. Synchronize both " +
		"with a time server."
	for _, c := range []struct {
		apart   time.Duration
		ok      bool
		message string
	}{
		{0, true, worksMessage}, {30 * time.Second, true, worksMessage}, {31 * time.Second, true, warning},
		{300 * time.Second, true, warning}, {301 * time.Second, false, clockMessage},
		{24 * time.Hour, false, clockMessage},
	} {
		for _, sign := range []time.Duration{1, -1} {
			synctest.Test(t, func(t *testing.T) {
				date := time.Now().UTC().Add(sign * c.apart).Format(http.TimeFormat)
				r, _ := registryTo(fixedAnswer("HTTP/1.1 204 No Content\r\nDate: " + date + "\r\n\r\n"))
				e := newProbeTransport(r.cfg.Egress, time.Now)
				e.setStep(t.Context())
				answer, err := e.client().Get("http://192.0.2.1:9000")
				if err != nil {
					t.Fatal(err)
				}
				answer.Body.Close()
				e.close()
				if got := e.clock(); got != (Finding{"clock", c.ok, c.message}) {
					t.Errorf("%v: %+v", sign*c.apart, got)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// At most 64 KiB of an answer are read.
func TestProbeReadIsBounded(t *testing.T) {
	for size, want := range map[int]int{64 << 10: 64 << 10, 64<<10 + 1: 64 << 10, 1 << 20: 64 << 10} {
		synctest.Test(t, func(t *testing.T) {
			r, _ := registryTo(fixedAnswer(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", size,
				strings.Repeat("a", size))))
			e := newProbeTransport(r.cfg.Egress, time.Now)
			e.setStep(t.Context())
			answer, err := e.client().Get("http://192.0.2.1:9000")
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(answer.Body); err != nil || len(body) != want {
				t.Errorf("of %d bytes %d were read, %v", size, len(body), err)
			}
			answer.Body.Close()
			e.close()
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// How a browser reads the CORS headers.
func TestListsOfHeaders(t *testing.T) {
	for _, c := range []struct {
		header []string
		word   string
		want   bool
	}{
		{nil, "ETag", false}, {[]string{""}, "ETag", false}, {[]string{"*"}, "ETag", true},
		{[]string{"etag"}, "ETag", true}, {[]string{"a, ETAG"}, "ETag", true},
		{[]string{"a", "ETag ,b"}, "ETag", true}, {[]string{"ETags"}, "ETag", false},
		{[]string{"GET,PUT"}, "PUT", true}, {[]string{"GET"}, "PUT", false},
	} {
		if got := headerLists(http.Header{"X": c.header}, "X", c.word); got != c.want {
			t.Errorf("%q in %q: %v", c.word, c.header, got)
		}
	}
}

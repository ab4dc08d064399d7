package s3

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/egress"
)

const (
	maxAnswer   = 1 << 20 // bytes; answers to calls that change something are shorter
	maxAttempts = 3       // attempts at a call that may be repeated
)

// readWholeAnswer reads the body of an answer into memory, at most maxAnswer bytes, and puts it
// back for the SDK. It turns a success whose body is an error document into status 500: a server
// whose call takes long sends its 200 before it knows the outcome. It does the same when a web page
// or plain text answers a DELETE.
func readWholeAnswer(resp *http.Response) error {
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	resp.Body.Close()
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if resp.StatusCode < 300 && (isError(content) || resp.Request != nil && resp.Request.Method == http.MethodDelete &&
		isForeignPage(content)) {
		resp.StatusCode, resp.Status = http.StatusInternalServerError, "500 Internal Server Error"
	}
	resp.Body = io.NopCloser(bytes.NewReader(content))
	return nil
}

// isError reports whether a document is an S3 error document, as servers send it with a failure:
// its outermost element is Error.
func isError(document []byte) bool { return rootElement(document) == "Error" }

// isForeignPage reports whether something between client and server wrote the answer to a DELETE:
// an HTML page or plain text. After a deletion an S3 server sends nothing or an XML document.
func isForeignPage(content []byte) bool {
	name := rootElement(content)
	return len(bytes.TrimSpace(content)) > 0 && (name == "" || strings.EqualFold(name, "html"))
}

// rootElement returns the name of the outermost element, "" for anything but XML.
func rootElement(document []byte) string {
	d := xml.NewDecoder(bytes.NewReader(document))
	for {
		token, err := d.Token()
		if err != nil {
			return ""
		}
		if start, ok := token.(xml.StartElement); ok {
			return start.Name.Local
		}
	}
}

// retryOption returns an option for a call of the SDK that repeats it, up to maxAttempts attempts
// with a pause of RetryPause that doubles. It is for calls that change nothing, or nothing more
// when repeated. A call that creates something is never repeated after a lost answer; the caller
// finds out what it did.
func retryOption(limits Limits) func(*sdk.Options) {
	retryable := retry.IsErrorRetryables{
		retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
			if errors.Is(err, errTooSlow) || errors.Is(err, egress.ErrRefused) || errors.Is(err, context.Canceled) ||
				errors.Is(err, context.DeadlineExceeded) {
				return aws.FalseTernary
			}
			return aws.UnknownTernary
		}),
		retry.RetryableHTTPStatusCode{Codes: map[int]struct{}{500: {}, 502: {}, 503: {}, 504: {}}},
		retry.RetryableErrorCode{Codes: map[string]struct{}{"SlowDown": {}, "InternalError": {},
			"ServiceUnavailable": {}, "RequestTimeout": {}}},
		retry.RetryableConnectionError{},
	}
	retryer := retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.RateLimiter = maxAttempts, ratelimit.None
		o.Retryables = retryable
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
			return limits.RetryPause << max(0, attempt-1), nil
		})
	})
	return func(o *sdk.Options) { o.Retryer = retryer }
}

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
	maxAnswer   = 1 << 20 // bytes; no document that answers a call which changes something is as long
	maxAttempts = 3       // of a call that may be repeated
)

// readWholeAnswer reads the body of an answer, and makes a success that holds an error document the
// failure that it is: servers that need long have sent their 200 before they knew. So it does with
// a page in place of the answer to a deletion.
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

// isError reports whether a document is an error's.
func isError(document []byte) bool { return rootElement(document) == "Error" }

// isForeignPage reports whether an answer was made by something on the way, a page of the web or a
// plain text. A server that has deleted sends nothing, or a document of the protocol; what it has
// done shows in nothing else.
func isForeignPage(content []byte) bool {
	name := rootElement(content)
	return len(bytes.TrimSpace(content)) > 0 && (name == "" || strings.EqualFold(name, "html"))
}

// rootElement is the name of a document's outermost element, "" of what is no XML.
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

// retryOption lets a call be repeated that changes nothing, or nothing more the second time: the
// caller says so by handing it on with the call. What may have come about although its answer was
// lost is never repeated: what became of it is found out.
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

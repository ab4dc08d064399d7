package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"larder/internal/blob"
)

// code returns the error code in the error document of a failed call, such as NoSuchKey, "" when
// there was none.
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// status returns the HTTP status of a failed call's answer, 0 for a nil error and when there was no
// answer.
func status(err error) int {
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) && response.Response != nil {
		return response.HTTPStatusCode()
	}
	return 0
}

// storeError maps an error of a call to blob.ErrNoSpace when the server is full, to the context's
// error when ctx has ended, or to blob.ErrUnavailable, never to blob.ErrNotFound. doing names the
// failed step.
func storeError(ctx context.Context, doing string, err error) error {
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("%s: %w", doing, ended)
	}
	switch code(err) {
	case "QuotaExceeded", "InsufficientStorage", "XMinioStorageFull", "StorageFull":
		return blob.NoSpace(doing, err)
	}
	if status(err) == http.StatusInsufficientStorage {
		return blob.NoSpace(doing, err)
	}
	if status(err) == http.StatusForbidden {
		err = fmt.Errorf("%w: %w", ErrDenied, err)
	}
	return blob.Unavailable(doing, err)
}

// notFoundOr is storeError, but maps NoSuchKey to blob.ErrNotFound. It is for calls whose error
// document can say that the object is missing.
func notFoundOr(ctx context.Context, doing string, err error) error {
	if status(err) == http.StatusNotFound && code(err) == "NoSuchKey" {
		return fmt.Errorf("%s: %w", doing, blob.ErrNotFound)
	}
	return storeError(ctx, doing, err)
}

// notImplemented reports whether the server says that it does not support a call or a header. Some
// servers use another status than 501.
func notImplemented(err error) bool {
	return status(err) == http.StatusNotImplemented || code(err) == "NotImplemented"
}

// isNoSuchUpload reports whether the server says that the upload in parts does not exist.
func isNoSuchUpload(err error) bool { return code(err) == "NoSuchUpload" }

// preconditionFailed reports whether the server refused the call because of its conditions, such as
// If-None-Match when the object exists.
func preconditionFailed(err error) bool {
	return status(err) == http.StatusPreconditionFailed || code(err) == "PreconditionFailed"
}

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

// code returns what the server's error document calls the error, "" when there was none.
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// status returns the HTTP status of an error, 0 when no answer came.
func status(err error) int {
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) && response.Response != nil {
		return response.HTTPStatusCode()
	}
	return 0
}

// storeError maps an error of a call to what a caller can tell apart. "Not found" never
// comes out of here.
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
	return blob.Unavailable(doing, err)
}

// notFoundOr is failed, for calls whose error document can say that this object is missing.
func notFoundOr(ctx context.Context, doing string, err error) error {
	if status(err) == http.StatusNotFound && code(err) == "NoSuchKey" {
		return fmt.Errorf("%s: %w", doing, blob.ErrNotFound)
	}
	return storeError(ctx, doing, err)
}

// notImplemented reports whether the server says that it does not know what was asked for, a call
// or a header. Some say so with another status.
func notImplemented(err error) bool {
	return status(err) == http.StatusNotImplemented || code(err) == "NotImplemented"
}

// isNoSuchUpload reports whether the server says that there is no such upload in parts.
func isNoSuchUpload(err error) bool { return code(err) == "NoSuchUpload" }

// preconditionFailed reports whether the server refused to make an object because one is there.
func preconditionFailed(err error) bool {
	return status(err) == http.StatusPreconditionFailed || code(err) == "PreconditionFailed"
}

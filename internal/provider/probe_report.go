package provider

import (
	"errors"
	"slices"

	"github.com/aws/smithy-go"

	"larder/internal/blob"
)

// The messages of a probe. Each says how to correct the problem. None contains anything that a
// server has sent.
const (
	worksMessage      = "Works."
	notTriedMessage   = "Not tried, since an earlier step failed."
	notReachedMessage = "No S3 server answers correctly. Check endpoint, region and bucket, and whether this machine " +
		"can reach the endpoint."

	diskMessage = "The directory of this bucket cannot be used. Check that the disk is mounted, contains the " +
		"marker file .larder-store and is writable."
	fullMessage    = "The storage is nearly full and refuses new files. Free some space."
	lockedMessage  = "The stored credentials cannot be decrypted. Enter accessKeyId and secretAccessKey again."
	unknownMessage = "The store does not accept the credentials. Enter accessKeyId and secretAccessKey again, and " +
		"check the region."
	rightsMessage = "The credentials do not allow this in the bucket. Extend their policy: docs/stores.md lists what " +
		"is needed."
	bucketMessage = "There is no such bucket. Create it, or check its name and the endpoint."
	regionMessage = "The bucket is in another region. Check region and endpoint."
	clockMessage  = "The clocks of this machine and of the store differ by more than 5 minutes. Synchronize both " +
		"with a time server."
	busyMessage   = "The store reports an error or is busy. Try again later."
	lacksMessage  = "The store does not support this."
	brokenMessage = "The store did not do this correctly or in time."

	presignMessage = "Transfers through signed addresses fail. Check uploadDomain: it must lead to the bucket and " +
		"keep the host name of the request; " +
		"or set uploadMode to worker and redirect to false."
	corsMessage = "The CORS rules of the bucket do not allow this site. Allow the site's origin, the methods GET, " +
		"HEAD and PUT and all headers, and expose ETag; docs/stores.md has " +
		"rules to copy. Or set uploadMode to worker."
	corsHeaderMessage = "The CORS rules of the bucket do not allow the header Content-Type. Allow all headers."
	corsETagMessage   = "The CORS rules of the bucket do not expose the header ETag to pages. Add it to the exposed " +
		"headers."

	allWorksMessage  = "The store works."
	mostWorksMessage = "The store works, but some direct access by clients does not. See the checks."

	noDateMessage = "The store's answers have no Date header."
	skewMessage   = "The clocks of this machine and of the store differ by more than 30 seconds. Synchronize both " +
		"with a time server."
)

// reasons holds the names of the messages of findings, for programs.
var reasons = map[string]string{
	worksMessage: "works", notTriedMessage: "not_tried", notReachedMessage: "no_store", diskMessage: "disk",
	fullMessage: "full", lockedMessage: "locked", unknownMessage: "credentials", rightsMessage: "permissions",
	bucketMessage: "bucket", regionMessage: "region", clockMessage: "clock", busyMessage: "busy",
	lacksMessage: "unsupported", brokenMessage: "broken", presignMessage: "signed_address", corsMessage: "cors",
	corsHeaderMessage: "cors_headers", corsETagMessage: "cors_etag", noDateMessage: "no_date", skewMessage: "skew",
}

// Reason returns the name of the finding's message for programs, such as "credentials".
func (f Finding) Reason() string { return reasons[f.Message] }

// errLocked means that the credentials in the row cannot be opened.
var errLocked = errors.New("the credentials cannot be decrypted")

// codeMessages maps S3 error codes to messages.
var codeMessages = map[string]string{
	"InvalidAccessKeyId": unknownMessage, "SignatureDoesNotMatch": unknownMessage, "InvalidSecurity": unknownMessage,
	"InvalidToken": unknownMessage,
	"ExpiredToken": unknownMessage, "XAdminUserNotFound": unknownMessage, "Unauthorized": unknownMessage,
	"AccessDenied": rightsMessage, "AllAccessDisabled": rightsMessage, "AccountProblem": rightsMessage,
	"MethodNotAllowed": rightsMessage,
	"NoSuchBucket":     bucketMessage, "InvalidBucketName": bucketMessage,
	"PermanentRedirect": regionMessage, "TemporaryRedirect": regionMessage,
	"AuthorizationHeaderMalformed": regionMessage, "InvalidRegion": regionMessage,
	"IllegalLocationConstraintException": regionMessage,
	"RequestTimeTooSkewed":               clockMessage, "RequestExpired": clockMessage,
	"SlowDown": busyMessage, "ServiceUnavailable": busyMessage, "InternalError": busyMessage, "Busy": busyMessage,
	"TooManyRequests": busyMessage,
	"QuotaExceeded":   fullMessage, "InsufficientStorage": fullMessage, "XMinioStorageFull": fullMessage,
	"StorageFull":    fullMessage,
	"NotImplemented": lacksMessage, "NoSuchKey": brokenMessage, "NoSuchUpload": brokenMessage,
	"InvalidRequest": brokenMessage, "InvalidArgument": brokenMessage,
}

// ambiguousCodes are codes that the client library also derives from the status of a response
// without a body, which any HTTP server may send.
var ambiguousCodes = []string{"MethodNotAllowed", "ServiceUnavailable", "TooManyRequests", "NotImplemented",
	"Unauthorized"}

// isS3Error reports whether an S3 server returned the error in its protocol, so that the endpoint
// is known to be one.
func isS3Error(err error) bool {
	_, known := codeMessages[errorCode(err)]
	return known && !slices.Contains(ambiguousCodes, errorCode(err)) || errors.Is(err, blob.ErrNotFound)
}

// errorCode returns the S3 error code of a failed call, "" for none.
func errorCode(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// finding returns the finding of the step name that ended with err, with one of the fixed messages.
func (p *probeRun) finding(name string, err error) Finding {
	message, known := codeMessages[errorCode(err)]
	switch {
	case err == nil:
		return Finding{name, true, worksMessage}
	case errors.Is(err, errLocked):
		message = lockedMessage
	case errors.Is(err, errNoHeader):
		message = corsHeaderMessage
	case errors.Is(err, errNoETag):
		message = corsETagMessage
	case name == "cors":
		message = corsMessage
	case name == "presign":
		message = presignMessage
	case errors.Is(err, blob.ErrNoSpace):
		message = fullMessage
	case errors.Is(err, blob.ErrCopyUnsupported):
		message = lacksMessage
	case p.p.Type == BuiltIn:
		message = diskMessage
	case !p.isStore:
		message = notReachedMessage
	case known:
	default:
		message = brokenMessage
	}
	return Finding{name, false, message}
}

// report returns the findings in order, including those of steps that were not run, and what they
// mean together.
func (p *probeRun) report() Report {
	report := Report{Connected: true, Message: allWorksMessage, Latency: p.latency}
	names := essentialSteps
	if p.p.Type != BuiltIn {
		names = append(names[:len(names):len(names)], directSteps...)
	}
	for i, name := range names {
		found, tried := p.found[name]
		if !tried {
			found = Finding{name, false, notTriedMessage}
		}
		report.Findings = append(report.Findings, found)
		switch {
		case found.OK:
		case i >= len(essentialSteps):
			if report.Connected {
				report.Message = mostWorksMessage
			}
		case report.Connected:
			report.Connected, report.Message = false, found.Message
		}
	}
	return report
}

package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"larder/internal/blob"
	"larder/internal/egress"
)

// Bucket is a bucket of a third party. Others choose its keys and may change its objects at any
// time, and its server is not trusted. It is not a blob.Store and shares only the settings with
// one.
//
// Errors contain only statuses and error codes of the server (Refusal), so that no error discloses
// an address, a key or a text of the server. Answers that are read whole have limits of length, and
// every call has a time limit. No call is retried. Specification: Free-mode endpoints.
type Bucket struct {
	// reads at most maxErrorBytes of an answer, also for calls that the SDK makes by itself
	client   *sdk.Client
	listings *http.Client // reads at most maxListingBytes of an answer
	contents *http.Client // has no limit of length; the answers are streamed
	name     string
	partSize int64
}

// The limits of a call.
const (
	callTimeout = 30 * time.Second // of a call without content
	partTimeout = 10 * time.Minute // of a call that sends a part
	readTimeout = time.Minute      // until the next bytes of an object arrive

	maxErrorBytes = 64 << 10 // bytes of an answer that is neither a listing nor content; error documents included
	// bytes of a listing: a thousand keys of 1,024 bytes, each byte encoded as three, and their
	// other fields
	maxListingBytes = 4 << 20
)

// bucketPartSize is how many bytes of a body are held in memory: the smallest part that S3 accepts,
// except for the last one.
const bucketPartSize = minPart

// OpenBucket returns the bucket that opts names. It sends no request. Prefix and UploadDomain are
// ignored. Without opts.Client the bucket has connections of its own. Error: a required option is
// missing or invalid.
func OpenBucket(opts Options) (*Bucket, error) {
	if opts.Egress == nil {
		return nil, errors.New("open bucket: a policy is required")
	}
	base := opts.Client
	if base == nil {
		transport := opts.Egress.Transport()
		transport.ResponseHeaderTimeout = 0 // as in Open
		base = &http.Client{Transport: transport}
	}
	client := func(most int64) *http.Client {
		return &http.Client{Transport: cappedTransport{base.Transport, most}, CheckRedirect: noRedirect}
	}
	opts.Client = client(maxErrorBytes)
	store, err := Open(opts)
	if err != nil {
		return nil, err
	}
	limits := opts.Limits.withDefaults()
	listings, contents := client(maxListingBytes), client(-1)
	listings.Transport, contents.Transport = &limitedTransport{listings.Transport,
		limits}, &limitedTransport{contents.Transport, limits}
	return &Bucket{client: store.client, listings: listings, contents: contents, name: store.bucket,
		partSize: bucketPartSize}, nil
}

// noRedirect is an http.Client.CheckRedirect that hands a redirect to the caller instead of
// following it, since that would send the credentials to another host.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Buckets opens buckets for a short time each; they share its connections.
type Buckets struct {
	policy *egress.Policy
	client *http.Client
}

// NewBuckets returns a Buckets that connects only to the servers that policy allows. The caller
// closes it.
func NewBuckets(policy *egress.Policy) *Buckets {
	transport := policy.Transport()
	transport.MaxResponseHeaderBytes = maxErrorBytes
	transport.MaxIdleConns = 64
	transport.MaxIdleConnsPerHost = 4
	return &Buckets{policy, &http.Client{Transport: transport}}
}

// Open is OpenBucket with the policy and the connections of b, which replace those of opts.
func (b *Buckets) Open(opts Options) (*Bucket, error) {
	opts.Egress, opts.Client = b.policy, b.client
	return OpenBucket(opts)
}

// Close closes the idle connections of all buckets.
func (b *Buckets) Close() { b.client.CloseIdleConnections() }

// Refusal is an error that an S3 server returned, with its code, such as AccessDenied. The code is
// "" when the answer was not an S3 error document. Use errors.As.
type Refusal struct {
	Status int
	Code   string
}

func (r Refusal) Error() string { return fmt.Sprintf("the server answers %d %s", r.Status, r.Code) }

// ErrDenied: the credentials are invalid, or do not allow the call. Use errors.Is.
var ErrDenied = errors.New("the server denies it")

// errNoAnswer replaces any error of a call that received no S3 answer, such as a maintenance page
// with status 200.
var errNoAnswer = errors.New("the answer cannot be used")

// errorCodePattern is the form of error codes.
var errorCodePattern = regexp.MustCompile(`^[A-Za-z.]{1,64}$`)

// deniedCodes are the error codes that mean ErrDenied.
var deniedCodes = map[string]bool{
	"AccessDenied": true, "AllAccessDisabled": true, "AccountProblem": true, "InvalidAccessKeyId": true,
	"SignatureDoesNotMatch": true, "Forbidden": true,
	"XAdminUserNotFound": true, "ExpiredToken": true, "InvalidToken": true, "UnauthorizedAccess": true,
	"NotSignedUp": true,
}

// refusalOf replaces the error of a call by one that discloses no text of the server: a Refusal
// with the HTTP status and the error code, or errNoAnswer when there was no answer.
func refusalOf(err error) error {
	if status(err) == 0 {
		return errNoAnswer
	}
	r := Refusal{Status: status(err)}
	if name := code(err); errorCodePattern.MatchString(name) {
		r.Code = name
	}
	return r
}

// invalidKeyCodes are the error codes by which a server refuses a key.
var invalidKeyCodes = map[string]bool{"KeyTooLongError": true, "KeyTooLong": true, "InvalidObjectName": true,
	"InvalidURI": true, "InvalidArgument": true, "InvalidRequest": true}

// bucketError maps an error of a call to ErrDenied, blob.ErrKey for a key that the server refuses,
// context.Canceled when the caller cancelled, or blob.ErrUnavailable. doing names the failed step.
// The result holds no text of the server.
func bucketError(ctx context.Context, doing string, err error) error {
	if ended := ctx.Err(); errors.Is(ended, context.Canceled) {
		return fmt.Errorf("%s: %w", doing, ended)
	}
	why := refusalOf(err)
	var r Refusal
	if errors.As(why, &r) && deniedCodes[r.Code] {
		return fmt.Errorf("%s: %w: %w", doing, ErrDenied, r)
	}
	if r.Status == http.StatusBadRequest && invalidKeyCodes[r.Code] {
		return fmt.Errorf("%s: %w: %w", doing, blob.ErrKey, r)
	}
	return blob.Unavailable(doing, why)
}

// Check reports whether the bucket can be listed, by asking for one object. It writes nothing. ctx
// limits the time. Error: a Refusal when an S3 server refused, errNoAnswer otherwise.
func (b *Bucket) Check(ctx context.Context) error {
	page, err := b.client.ListObjectsV2(ctx, &sdk.ListObjectsV2Input{Bucket: &b.name, MaxKeys: aws.Int32(1)})
	switch {
	case err != nil:
		return refusalOf(err)
	case !isListing(page):
		return errNoAnswer
	}
	return nil
}

// isListing reports whether an answer is a listing: the SDK decodes any other XML document as an
// empty one.
func isListing(page *sdk.ListObjectsV2Output) bool {
	return page.Name != nil || page.IsTruncated != nil || page.MaxKeys != nil || page.KeyCount != nil
}

// Item is an object of a bucket, or a folder: the common prefix, up to the next slash, of the keys
// below it.
type Item struct {
	Key    string // as the server returned it, not necessarily UTF-8; a folder's key ends in a slash
	Folder bool
	Size   int64 // bytes
	ETag   string
}

// Listing is one page of a listing, folders first.
type Listing struct {
	Items  []Item
	Cursor string // of the next page, "" on the last page
}

// List returns up to limit items of one level: the keys that begin with prefix, which is "" or ends
// in a slash, up to the next slash. cursor is that of the page before, "" for the first. List omits
// an object whose key equals prefix and keys that do not begin with it. Errors: ErrDenied,
// blob.ErrUnavailable, also for an answer with more than limit items.
func (b *Bucket) List(ctx context.Context, prefix, cursor string, limit int) (Listing, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	input := &sdk.ListObjectsV2Input{
		Bucket: &b.name, Prefix: &prefix, Delimiter: aws.String("/"), MaxKeys: aws.Int32(int32(limit)),
		EncodingType: types.EncodingTypeUrl,
	}
	if cursor != "" {
		input.ContinuationToken = &cursor
	}
	page, err := b.client.ListObjectsV2(withItemLimit(ctx, limit), input, withClient(b.listings))
	if err == nil && (!isListing(page) || len(page.Contents)+len(page.CommonPrefixes) > limit) {
		err = errNoAnswer
	}
	if err != nil {
		return Listing{}, bucketError(ctx, "list bucket", err)
	}
	name := func(key *string) string { return aws.ToString(key) }
	if page.EncodingType == types.EncodingTypeUrl { // XML cannot represent every key
		name = func(key *string) string {
			if plain, err := url.QueryUnescape(aws.ToString(key)); err == nil {
				return plain
			}
			return aws.ToString(key)
		}
	}
	var list Listing
	add := func(i Item) {
		if len(i.Key) > len(prefix) && strings.HasPrefix(i.Key, prefix) {
			list.Items = append(list.Items, i)
		}
	}
	for _, p := range page.CommonPrefixes {
		add(Item{Key: name(p.Prefix), Folder: true})
	}
	for _, o := range page.Contents {
		add(Item{Key: name(o.Key), Size: max(0, aws.ToInt64(o.Size)), ETag: unquotedETag(aws.ToString(o.ETag))})
	}
	if aws.ToBool(page.IsTruncated) {
		if list.Cursor = aws.ToString(page.NextContinuationToken); list.Cursor == "" || list.Cursor == cursor {
			return Listing{}, blob.Unavailable("list bucket", errors.New("the server's list has no continuation"))
		}
	}
	return list, nil
}

// Delete removes an object. Deleting an absent object succeeds. Errors: ErrDenied,
// blob.ErrUnavailable.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := b.client.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: &b.name, Key: &key})
	if err != nil && code(err) != "NoSuchKey" {
		return bucketError(ctx, "delete object", err)
	}
	return nil
}

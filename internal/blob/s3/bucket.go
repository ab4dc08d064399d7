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

// Bucket is somebody else's bucket: its keys are what others have chosen, objects are overwritten
// and changed by them at any time, and its server is not trusted. It is no blob.Store, and shares
// only the settings with one.
//
// Of what the server says nothing but statuses and the names of errors (Refusal) gets
// out, so that no error holds an address, a key or a text of its making. Answers that
// are read whole have bounds, and every call has a limit of time. Nothing is tried
// twice. Specification: Free-mode endpoints.
type Bucket struct {
	// its answers have maxErrorBytes bytes, those to calls that the SDK makes of
	// its own accord included
	client   *sdk.Client
	listings *http.Client // whose answers have maxListingBytes
	contents *http.Client // whose answers have no bound, and are streamed
	name     string
	partSize int64
}

// The bounds of a call.
const (
	callTimeout = 30 * time.Second // of one that carries no content
	partTimeout = 10 * time.Minute // of one that sends a part
	readTimeout = time.Minute      // until the next bytes of an object come

	maxErrorBytes = 64 << 10 // bytes of any answer that is neither a listing nor content, refusals among them
	// bytes of a listing: a thousand keys of 1,024 bytes, three for each when encoded, and what is
	// told of each beside
	maxListingBytes = 4 << 20
)

// bucketPartSize is how much of a body is held in memory, in bytes: the least that S3 takes of a
// part that is not the last.
const bucketPartSize = minPart

// OpenBucket returns the bucket; the server is not asked. Prefix and
// UploadDomain mean nothing here.
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

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Buckets opens buckets that come and go; they share its connections.
type Buckets struct {
	policy *egress.Policy
	client *http.Client
}

// NewBuckets returns what opens buckets that a policy lets be reached.
func NewBuckets(policy *egress.Policy) *Buckets {
	transport := policy.Transport()
	transport.MaxResponseHeaderBytes = maxErrorBytes
	transport.MaxIdleConns = 64
	transport.MaxIdleConnsPerHost = 4
	return &Buckets{policy, &http.Client{Transport: transport}}
}

// Open is OpenBucket by the policy, whatever opts say of that.
func (b *Buckets) Open(opts Options) (*Bucket, error) {
	opts.Egress, opts.Client = b.policy, b.client
	return OpenBucket(opts)
}

// Close gives up connections that are idle.
func (b *Buckets) Close() { b.client.CloseIdleConnections() }

// Refusal is what an S3 server calls its refusal, such as AccessDenied; "" when its answer is no
// error document of the protocol. For errors.As.
type Refusal struct {
	Status int
	Code   string
}

func (r Refusal) Error() string { return fmt.Sprintf("the server answers %d %s", r.Status, r.Code) }

// ErrDenied says that the credentials may not do it, or are not good any more. For errors.Is.
var ErrDenied = errors.New("the server denies it")

// errNoAnswer stands for whatever ends a call without an answer of the protocol, such as the 200
// of a maintenance page.
var errNoAnswer = errors.New("no answer that can be used")

// errorCodePattern is what the names of errors look like.
var errorCodePattern = regexp.MustCompile(`^[A-Za-z.]{1,64}$`)

// deniedCodes are the errors that say so of the credentials.
var deniedCodes = map[string]bool{
	"AccessDenied": true, "AllAccessDisabled": true, "AccountProblem": true, "InvalidAccessKeyId": true,
	"SignatureDoesNotMatch": true, "Forbidden": true,
	"XAdminUserNotFound": true, "ExpiredToken": true, "InvalidToken": true, "UnauthorizedAccess": true,
	"NotSignedUp": true,
}

// refusalOf is what an error of a call tells about the server.
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

// invalidKeyCodes are the errors that say of a key that the server can't have it.
var invalidKeyCodes = map[string]bool{"KeyTooLongError": true, "KeyTooLong": true, "InvalidObjectName": true,
	"InvalidURI": true, "InvalidArgument": true, "InvalidRequest": true}

// bucketError maps an error of a call: ErrDenied, blob.ErrKey for a key that the server can't have,
// context.Canceled when the caller gave up, or blob.ErrUnavailable.
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

// Check reports whether the bucket can be listed, by looking for one object; nothing is written.
// ctx bounds the time. Error: a Refusal of an S3 server that said no, or another for whatever else
// there is in place of one.
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

// isListing reports whether an answer is one at all: any page of the web is taken for an empty one.
func isListing(page *sdk.ListObjectsV2Output) bool {
	return page.Name != nil || page.IsTruncated != nil || page.MaxKeys != nil || page.KeyCount != nil
}

// Item is an object of a bucket, or a folder: what all keys that go on behind a slash have in
// common up to it.
type Item struct {
	Key    string // whatever bytes the server gives; a folder's ends in a slash
	Folder bool
	Size   int64 // bytes
	ETag   string
}

// Listing is a page of a bucket, folders first.
type Listing struct {
	Items  []Item
	Cursor string // of the next page, "" after the last one
}

// List lists one level: what begins with prefix, which is "" or ends in a slash, up to the next
// slash. An object called prefix is left out, as is what does not begin with it. An answer of more
// than limit items is none. Errors: ErrDenied, blob.ErrUnavailable.
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
	if page.EncodingType == types.EncodingTypeUrl { // XML has no way to write every key
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
			return Listing{}, blob.Unavailable("list bucket", errors.New("the server does not say how to go on"))
		}
	}
	return list, nil
}

// Delete removes an object; absent is success. Errors: ErrDenied, blob.ErrUnavailable.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := b.client.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: &b.name, Key: &key})
	if err != nil && code(err) != "NoSuchKey" {
		return bucketError(ctx, "delete object", err)
	}
	return nil
}

// Package s3 keeps objects in a bucket of any server with the S3 protocol, at the key
// `[prefix/]ab/<32 hex>[.ext]`.
//
// Put holds at most one part in memory (Options.PartSize). All Puts of the process together hold
// 256 MiB beyond the first 256 KiB of each; more Puts wait, one part at a time. A body that fits
// into the first part is sent by one PutObject. A longer one is a multipart upload, which Put
// completes only when the body has ended as announced, and aborts otherwise. Nothing can be read
// before that.
//
// Nothing is overwritten: every object is created with `If-None-Match: *`. When a server does not
// support the header (it answers NotImplemented), the store checks for the object first, which is
// not atomic. A server that ignores the header overwrites. Keys have 128 random bits and belong to
// one upload, so only a caller that uses a key twice is affected.
//
// The server may carry out a call whose answer is lost. Put then looks for the mark in the object's
// metadata, and Finish asks whether the upload still exists. A doubtful outcome is reported as
// blob.ErrUnavailable and may leave an object without references, since a delayed request can take
// effect after the check. Calls that create something are never retried. Calls that read, delete or
// list are retried a few times, and so are parts that are in memory or copied by the server. A read
// that breaks off is resumed at its offset as long as the object has the same ETag.
//
// Every call has time limits, and so has every body while it waits for the server (Limits).
//
// Bodies are protected by Content-MD5, which the server checks. A streamed part is checked by its
// ETag where that is the MD5 of the content, which the protocol does not require. The store relies
// on no particular form of ETags.
//
// blob.ErrNotFound means that the server named this object or upload as missing. A missing bucket,
// or a 404 of a proxy, is blob.ErrUnavailable. Redirects are not followed, since they would send
// the credentials to another host. Specification: Providers.
package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/blob"
	"larder/internal/egress"
	"larder/internal/ident"
)

const (
	minPart     = 5 << 20 // bytes; the smallest part on S3, except for the last one
	defaultPart = 8 << 20 // bytes
)

// Options are the address and the settings of a bucket.
type Options struct {
	Endpoint  string // https://host[:port], or http://; required
	Region    string // us-east-1 when empty, which servers without regions accept
	Bucket    string // required; it must exist
	AccessKey string
	SecretKey string
	PathStyle bool   // the bucket is in the path instead of the host name
	Prefix    string // of the keys, "" or without a trailing slash; Check writes below it

	// host or http(s) address by which clients reach the bucket, used in pre-signed addresses; ""
	// for the endpoint
	UploadDomain string

	PartSize int64          // bytes of the parts that Put sends, at least 5 MiB; 8 MiB when 0
	Egress   *egress.Policy // the allowed addresses; required
	Client   *http.Client   // sends the requests; a client of Egress when nil. It does not follow redirects
	IDs      *ident.Source  // draws marks; required
	Limits   Limits         // of time
	// WrapTransport wraps what sends the requests, for metrics; nil for none
	WrapTransport TransportWrapper
}

// TransportWrapper returns a transport that sends requests by next.
type TransportWrapper func(next http.RoundTripper) http.RoundTripper

// server identifies an S3 server with an account. Between two buckets with equal values the server
// can copy.
type server struct{ endpoint, accessKey, secretKey string }

// Store is a blob.Store in a bucket. It is safe for concurrent use, also by several processes.
type Store struct {
	http     *http.Client
	client   *sdk.Client
	presign  *sdk.PresignClient
	server   server
	bucket   string
	prefix   string // "" or with a trailing slash
	partSize int64
	ids      *ident.Source
	locks    uploadLocks
	budget   *memoryBudget
	retry    func(*sdk.Options) // option for calls that may be retried

	noIfNoneMatch atomic.Bool // the server does not support If-None-Match
	opaqueETags   atomic.Bool // the server's ETags look like MD5s and are others
	pageSize      *int32      // entries per page of a listing, nil for the server's default
	copyMax       int64       // bytes; larger objects are copied in parts
	copyPart      int64       // bytes of such a part, or more for an object with too many parts
}

var _ blob.Store = (*Store)(nil)

// Open returns the store in the bucket that opts name. It sends no request, so it does not notice a
// bucket that is missing. Error: a required option is missing or invalid.
func Open(opts Options) (*Store, error) {
	endpoint, err := url.Parse(opts.Endpoint)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "https" && endpoint.Scheme != "http" ||
		endpoint.User != nil {
		return nil, errors.New("open bucket: the endpoint is not an address that begins with https:// or http://")
	}
	if opts.PartSize == 0 {
		opts.PartSize = defaultPart
	}
	if opts.Bucket == "" || opts.IDs == nil || opts.Egress == nil || opts.PartSize < minPart {
		return nil,
			fmt.Errorf("open bucket: a bucket, a source of ids, a policy and parts of %d bytes or more are required",
				minPart)
	}
	if opts.Region == "" {
		opts.Region = "us-east-1"
	}
	opts.Limits = opts.Limits.withDefaults()
	if opts.Client == nil {
		transport := opts.Egress.Transport()
		transport.ResponseHeaderTimeout = 0 // Limits has a longer limit for some calls
		opts.Client = &http.Client{Transport: transport}
	}
	if opts.Prefix != "" {
		opts.Prefix += "/"
	}
	client := *opts.Client
	if opts.WrapTransport != nil {
		client.Transport = opts.WrapTransport(client.Transport)
	}
	client.Transport = &limitedTransport{client.Transport, opts.Limits}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	settings := sdk.Options{
		BaseEndpoint: &opts.Endpoint,
		Region:       opts.Region,
		Credentials:  credentials.NewStaticCredentialsProvider(opts.AccessKey, opts.SecretKey, ""),
		UsePathStyle: opts.PathStyle,
		HTTPClient:   &client,
		// a body can be read only once, and this package decides what a lost answer means
		Retryer:                    aws.NopRetryer{},
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,

		// otherwise the name of a bucket can make the SDK send a call of its own
		DisableS3ExpressSessionAuth: aws.Bool(true),
	}
	presign, err := presigner(settings, opts.UploadDomain)
	if err != nil {
		return nil, err
	}
	return &Store{
		http: &client, client: sdk.New(settings), presign: presign,
		server: server{endpoint.Scheme + "://" + endpoint.Host, opts.AccessKey, opts.SecretKey},
		bucket: opts.Bucket, prefix: opts.Prefix, partSize: opts.PartSize, ids: opts.IDs,
		retry:  retryOption(opts.Limits),
		budget: partBuffers, copyMax: copyMax, copyPart: copyPart,
	}, nil
}

// Close closes idle connections. Calls in progress continue, and later calls connect again.
func (s *Store) Close() { s.http.CloseIdleConnections() }

// checkKey checks key and ctx and returns key in the form of the SDK. Errors: blob.ErrKey, the
// context's.
func (s *Store) checkKey(ctx context.Context, key blob.Key) (*string, error) {
	if _, err := blob.ParseKey(string(key)); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("use bucket: %w", err)
	}
	return aws.String(string(key)), nil
}

// Stat returns the size and the ETag of an object, without the hash. Errors: blob.ErrNotFound,
// blob.ErrUnavailable.
func (s *Store) Stat(ctx context.Context, key blob.Key) (blob.Info, error) {
	info, _, err := s.statKey(ctx, key)
	return info, err
}

// statKey returns size and ETag of the object at key, and its mark (markName), "" for none. Errors:
// those of Stat.
func (s *Store) statKey(ctx context.Context, key blob.Key) (info blob.Info, mark string, err error) {
	name, err := s.checkKey(ctx, key)
	if err != nil {
		return blob.Info{}, "", err
	}
	return s.statName(ctx, name)
}

// statName is statKey for any name. It repeats a 404 with a GET, since an answer to HEAD cannot
// tell a missing object from a missing bucket and may come too early.
func (s *Store) statName(ctx context.Context, name *string) (info blob.Info, mark string, err error) {
	head, err := s.client.HeadObject(ctx, &sdk.HeadObjectInput{Bucket: &s.bucket, Key: name}, s.retry)
	if err == nil {
		return objectInfo(head.ContentLength, head.ETag, head.Metadata)
	}
	if status(err) != http.StatusNotFound {
		return blob.Info{}, "", storeError(ctx, "ask for object", err)
	}
	got, err := s.client.GetObject(ctx, &sdk.GetObjectInput{Bucket: &s.bucket, Key: name}, s.retry)
	if err != nil {
		return blob.Info{}, "", notFoundOr(ctx, "ask for object", err)
	}
	got.Body.Close()
	return objectInfo(got.ContentLength, got.ETag, got.Metadata)
}

// objectInfo converts the fields of an answer about an object to a blob.Info and the object's mark.
// Every server returns an ETag: an answer without one is not about an object, but for example an
// error with status 200, and gives blob.ErrUnavailable.
func objectInfo(size *int64, etag *string, metadata map[string]string) (blob.Info, string, error) {
	if size == nil || *size < 0 || aws.ToString(etag) == "" {
		return blob.Info{}, "", blob.Unavailable("ask for object",
			errors.New("the server's answer has no size or ETag"))
	}
	return blob.Info{Size: *size, ETag: *etag}, metadata[markName], nil
}

// Delete removes an object and the uploads in parts for its key. Deleting an absent object
// succeeds. Error: blob.ErrUnavailable.
func (s *Store) Delete(ctx context.Context, key blob.Key) error {
	name, err := s.checkKey(ctx, key)
	if err != nil {
		return err
	}
	if err := s.abortAll(ctx, key); err != nil {
		return err
	}
	return s.deleteName(ctx, name)
}

// deleteName deletes the object with that name, which need not be a key. An absent one is no error.
func (s *Store) deleteName(ctx context.Context, name *string) error {
	_, err := s.client.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: &s.bucket, Key: name}, s.retry)
	if err != nil && code(err) != "NoSuchKey" {
		return storeError(ctx, "delete object", err)
	}
	return nil
}

// checkName begins the names, after the prefix, of the objects that Check creates. No key has this
// form.
const checkName = "larder-check-"

// Check creates a small object and removes it. Errors: blob.ErrUnavailable, blob.ErrNoSpace.
func (s *Store) Check(ctx context.Context) error {
	name := s.prefix + checkName + s.ids.Hex(16)
	if _, err := s.putSingle(ctx, name, []byte("larder"), "text/plain", s.ids.Hex(16)); err != nil {
		return err
	}
	return s.deleteName(ctx, &name)
}

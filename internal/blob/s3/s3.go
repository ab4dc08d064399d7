// Package s3 keeps objects in a bucket of any server that speaks the S3 protocol, at the key
// `[prefix/]ab/<32 hex>[.ext]` as it is.
//
// Put holds at most one part in memory (Options.PartSize), and all Puts of a process together 256
// MiB beyond the first 256 KiB of each: more wait for each other, a part at a time. A body that
// ends within it is one PutObject; a longer one is a multipart upload, which is completed only when
// the body has ended as announced, and aborted otherwise: until then nothing can be read.
//
// Nothing is overwritten: every object is made with `If-None-Match: *`. Of a server that does not
// know the header (it answers NotImplemented) the store asks first, which leaves a gap between
// question and answer; one that ignores it overwrites. Keys have 128 random bits and belong to one
// upload, so that only a caller who uses a key twice can get there.
//
// A call may be carried out although its answer was lost. Put marks what it makes and looks for
// its mark then; Finish asks whether the upload is still there. What stays in doubt is told as
// blob.ErrUnavailable, and may leave an object that nothing refers to: a request that the server
// still holds can take effect after the store looked. Calls that make something are never
// repeated; those that read, delete or list are, a few times, and so are parts that are in memory,
// or copied by the server; and a read that breaks off goes on where it was, as long as the object
// has the same ETag.
//
// Every call has limits of time, and so have bodies as far as they wait for the server (Limits).
//
// What is sent is protected: by Content-MD5, which the server checks, and a part that passes
// through by the ETag, where that is the MD5 of what the server has (no server has to). The store
// relies on no form of an ETag.
//
// blob.ErrNotFound comes from a server that said so of this very object or upload: a missing bucket
// or a proxy's 404 is blob.ErrUnavailable. Redirects are not followed, since they would carry
// credentials to another host. Specification: Providers.
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
	minPart     = 5 << 20 // bytes; what S3 takes of a part that is not the last
	defaultPart = 8 << 20 // bytes
)

// Options say where the bucket is.
type Options struct {
	Endpoint  string // https://host[:port], or http://; required
	Region    string // us-east-1 when empty, which servers without regions take
	Bucket    string // required; it must exist
	AccessKey string
	SecretKey string
	PathStyle bool   // the bucket in the path instead of in front of the host name
	Prefix    string // of the keys, "" or without a slash at its end; Check writes below it

	// a host or an http(s) address by which clients reach the bucket, in pre-signed addresses;
	// "" for the endpoint
	UploadDomain string

	PartSize int64          // bytes, 5 MiB at least, of the parts of a body that Put takes; 8 MiB when 0
	Egress   *egress.Policy // what may be reached; required
	Client   *http.Client   // does the calls; that of Egress when nil. Its redirects are ignored
	IDs      *ident.Source  // draws marks; required
	Limits   Limits         // of time
}

// server is who copies between two of its buckets when asked to.
type server struct{ endpoint, accessKey, secretKey string }

// Store is a blob.Store in a bucket. Safe for concurrent use, also by several
// processes on one bucket.
type Store struct {
	http     *http.Client
	client   *sdk.Client
	presign  *sdk.PresignClient
	server   server
	bucket   string
	prefix   string // "" or with a slash at its end
	partSize int64
	ids      *ident.Source
	locks    uploadLocks
	budget   *memoryBudget
	retry    func(*sdk.Options) // for calls that may be repeated

	noIfNoneMatch atomic.Bool // the server does not know If-None-Match
	opaqueETags   atomic.Bool // its ETags may look like an MD5 and are none
	pageSize      *int32      // entries that a page of a list may have, nil for the server's own bound
	copyMax       int64       // bytes; larger objects are copied in parts
	copyPart      int64       // bytes of such a part, or more
}

var _ blob.Store = (*Store)(nil)

// Open returns the store; the server is not asked.
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
		transport.ResponseHeaderTimeout = 0 // Limits knows which calls take long
		opts.Client = &http.Client{Transport: transport}
	}
	if opts.Prefix != "" {
		opts.Prefix += "/"
	}
	client := *opts.Client
	client.Transport = &limitedTransport{client.Transport, opts.Limits}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	settings := sdk.Options{
		BaseEndpoint: &opts.Endpoint,
		Region:       opts.Region,
		Credentials:  credentials.NewStaticCredentialsProvider(opts.AccessKey, opts.SecretKey, ""),
		UsePathStyle: opts.PathStyle,
		HTTPClient:   &client,
		// a body is read once, and what a lost answer means is decided here
		Retryer:                    aws.NopRetryer{},
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,

		DisableS3ExpressSessionAuth: aws.Bool(true), // the name of a bucket has the SDK make no call of its own
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

// Close gives up connections that are idle. Calls under way go on, and later ones connect anew.
func (s *Store) Close() { s.http.CloseIdleConnections() }

// checkKey checks a key and returns it as the protocol wants it.
func (s *Store) checkKey(ctx context.Context, key blob.Key) (*string, error) {
	if _, err := blob.ParseKey(string(key)); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("use bucket: %w", err)
	}
	return aws.String(string(key)), nil
}

// Stat tells what the server knows of an object; its hash is not among
// that. Errors: blob.ErrNotFound, blob.ErrUnavailable.
func (s *Store) Stat(ctx context.Context, key blob.Key) (blob.Info, error) {
	info, _, err := s.statKey(ctx, key)
	return info, err
}

// statKey tells what lies at key, with the mark that Put left.
func (s *Store) statKey(ctx context.Context, key blob.Key) (info blob.Info, mark string, err error) {
	name, err := s.checkKey(ctx, key)
	if err != nil {
		return blob.Info{}, "", err
	}
	return s.statName(ctx, name)
}

// statName is head for any name. A 404 without a body may mean a missing bucket just as well, or
// come too early, so that a GET decides.
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

// objectInfo is what a server told of an object. Every server tells an ETag: an answer without one
// is something else than an object, such as an error that came with 200.
func objectInfo(size *int64, etag *string, metadata map[string]string) (blob.Info, string, error) {
	if size == nil || *size < 0 || aws.ToString(etag) == "" {
		return blob.Info{}, "", blob.Unavailable("ask for object",
			errors.New("the server does not tell its size or ETag"))
	}
	return blob.Info{Size: *size, ETag: *etag}, metadata[markName], nil
}

// Delete removes an object and the uploads in parts for its key; absent
// is success. Error: blob.ErrUnavailable.
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

// deleteName is Delete for an object of any name.
func (s *Store) deleteName(ctx context.Context, name *string) error {
	_, err := s.client.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: &s.bucket, Key: name}, s.retry)
	if err != nil && code(err) != "NoSuchKey" {
		return storeError(ctx, "delete object", err)
	}
	return nil
}

// checkName is what the names of the objects that Check makes begin with, behind the prefix: no
// key looks like that.
const checkName = "larder-check-"

// Check makes a small object and removes it. Errors: blob.ErrUnavailable, blob.ErrNoSpace.
func (s *Store) Check(ctx context.Context) error {
	name := s.prefix + checkName + s.ids.Hex(16)
	if _, err := s.putSingle(ctx, name, []byte("larder"), "text/plain", s.ids.Hex(16)); err != nil {
		return err
	}
	return s.deleteName(ctx, &name)
}

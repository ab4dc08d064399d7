// Package s3 keeps objects in a bucket of any server that speaks the S3 protocol, at the key `[prefix/]ab/<32 hex>[.ext]` as it is.
//
// Put holds at most one part in memory (Options.PartSize). A body that ends within it is one PutObject; a longer one is a multipart upload,
// which is completed only when the body has ended as announced, and aborted otherwise: until then nothing can be read.
//
// Nothing is overwritten: every object is made with `If-None-Match: *`. Of a server that does not know the header (it answers
// NotImplemented) the store asks first, which leaves a gap between question and answer; one that ignores it overwrites. Keys have 128
// random bits and belong to one upload, so that only a caller who uses a key twice can get there.
//
// A call may be carried out although its answer was lost. Put marks what it makes and looks for its mark then; Finish asks whether the
// upload is still there. What stays in doubt is told as blob.ErrUnavailable, and may leave an object that nothing refers to: a request
// that the server still holds can take effect after the store looked. No call is tried twice.
//
// blob.ErrNotFound comes from a server that said so of this very object or upload: a missing bucket or a proxy's 404 is
// blob.ErrUnavailable. Redirects are not followed, since they would carry credentials to another host.
// Specification: Providers.
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

	UploadDomain string // a host or an http(s) address by which clients reach the bucket, in pre-signed addresses; "" for the endpoint

	PartSize int64          // bytes, 5 MiB at least, of the parts of a body that Put takes; 8 MiB when 0
	Egress   *egress.Policy // what may be reached; required
	Client   *http.Client   // does the calls, with its own limits of time; that of Egress when nil. Its redirects are ignored
	IDs      *ident.Source  // draws marks; required
}

// server is who copies between two of its buckets when asked to.
type server struct{ endpoint, accessKey, secretKey string }

// Store is a blob.Store in a bucket. Safe for concurrent use, also by several processes on one bucket.
type Store struct {
	http     *http.Client
	client   *sdk.Client
	presign  *sdk.PresignClient
	server   server
	bucket   string
	prefix   string // "" or with a slash at its end
	partSize int64
	ids      *ident.Source
	gates    gates

	unconditional atomic.Bool // the server does not know If-None-Match
	page          *int32      // parts a ListParts may return, nil for the server's own bound
}

var _ blob.Store = (*Store)(nil)

// Open returns the store; the server is not asked.
func Open(opts Options) (*Store, error) {
	endpoint, err := url.Parse(opts.Endpoint)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "https" && endpoint.Scheme != "http" || endpoint.User != nil {
		return nil, errors.New("open bucket: the endpoint is not an address that begins with https:// or http://")
	}
	if opts.PartSize == 0 {
		opts.PartSize = defaultPart
	}
	if opts.Bucket == "" || opts.IDs == nil || opts.Egress == nil || opts.PartSize < minPart {
		return nil, fmt.Errorf("open bucket: a bucket, a source of ids, a policy and parts of %d bytes or more are required", minPart)
	}
	if opts.Region == "" {
		opts.Region = "us-east-1"
	}
	if opts.Client == nil {
		opts.Client = opts.Egress.Client()
	}
	if opts.Prefix != "" {
		opts.Prefix += "/"
	}
	client := *opts.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	settings := sdk.Options{
		BaseEndpoint:               &opts.Endpoint,
		Region:                     opts.Region,
		Credentials:                credentials.NewStaticCredentialsProvider(opts.AccessKey, opts.SecretKey, ""),
		UsePathStyle:               opts.PathStyle,
		HTTPClient:                 &client,
		Retryer:                    aws.NopRetryer{}, // a body is read once, and what a lost answer means is decided here
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
	presign, err := presigner(settings, opts.UploadDomain)
	if err != nil {
		return nil, err
	}
	return &Store{
		http: &client, client: sdk.New(settings), presign: presign, server: server{endpoint.Scheme + "://" + endpoint.Host, opts.AccessKey, opts.SecretKey},
		bucket: opts.Bucket, prefix: opts.Prefix, partSize: opts.PartSize, ids: opts.IDs,
	}, nil
}

// Close gives up connections that are idle. Calls under way go on, and later ones connect anew.
func (s *Store) Close() { s.http.CloseIdleConnections() }

// name checks a key and returns it as the protocol wants it.
func (s *Store) name(ctx context.Context, key blob.Key) (*string, error) {
	if _, err := blob.ParseKey(string(key)); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("use bucket: %w", err)
	}
	return aws.String(string(key)), nil
}

// Stat tells what the server knows of an object; its hash is not among that. Errors: blob.ErrNotFound, blob.ErrUnavailable.
func (s *Store) Stat(ctx context.Context, key blob.Key) (blob.Info, error) {
	info, _, err := s.head(ctx, key)
	return info, err
}

// head tells what lies at key, with the mark that Put left. A 404 without a body may mean a missing bucket just as well, so that a GET
// decides.
func (s *Store) head(ctx context.Context, key blob.Key) (info blob.Info, mark string, err error) {
	name, err := s.name(ctx, key)
	if err != nil {
		return blob.Info{}, "", err
	}
	head, err := s.client.HeadObject(ctx, &sdk.HeadObjectInput{Bucket: &s.bucket, Key: name})
	if err == nil {
		return known(head.ContentLength, head.ETag, head.Metadata)
	}
	if status(err) != http.StatusNotFound {
		return blob.Info{}, "", failed(ctx, "ask for object", err)
	}
	got, err := s.client.GetObject(ctx, &sdk.GetObjectInput{Bucket: &s.bucket, Key: name})
	if err != nil {
		return blob.Info{}, "", absent(ctx, "ask for object", err)
	}
	got.Body.Close()
	return known(got.ContentLength, got.ETag, got.Metadata)
}

func known(size *int64, etag *string, metadata map[string]string) (blob.Info, string, error) {
	if size == nil {
		return blob.Info{}, "", blob.Unavailable("ask for object", errors.New("the server does not tell its size"))
	}
	return blob.Info{Size: *size, ETag: aws.ToString(etag)}, metadata[markName], nil
}

// Delete removes an object and the uploads in parts for its key; absent is success. Error: blob.ErrUnavailable.
func (s *Store) Delete(ctx context.Context, key blob.Key) error {
	name, err := s.name(ctx, key)
	if err != nil {
		return err
	}
	if err := s.abortAll(ctx, key); err != nil {
		return err
	}
	_, err = s.client.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: &s.bucket, Key: name})
	if err != nil && code(err) != "NoSuchKey" {
		return failed(ctx, "delete object", err)
	}
	return nil
}

// Check makes a small object and removes it. Errors: blob.ErrUnavailable, blob.ErrNoSpace.
func (s *Store) Check(ctx context.Context) error {
	key := blob.Key(s.prefix + "00/" + s.ids.Hex(16) + ".check")
	if _, err := s.put(ctx, key, []byte("larder"), s.ids.Hex(16)); err != nil {
		return err
	}
	if _, err := s.client.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String(string(key))}); err != nil {
		return failed(ctx, "delete object", err)
	}
	return nil
}

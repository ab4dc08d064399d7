// Package s3test creates buckets on the S3 server that scripts/services started.
package s3test

import (
	"context"
	"crypto/rand"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/egress"
	"larder/internal/ident"
)

// Loopback is the network of the server's address.
var Loopback = netip.MustParsePrefix("127.0.0.0/8")

// Bucket is the address of a bucket with its credentials.
type Bucket struct {
	Endpoint  string // http://127.0.0.1:port
	Name      string
	AccessKey string
	SecretKey string
}

// Egress returns a policy that allows connections to the server. All names below `test.` resolve to
// the server, including those of virtual hosts.
func Egress() *egress.Policy {
	return &egress.Policy{Allow: []netip.Prefix{Loopback}, Resolver: Resolver{}}
}

// VirtualDomain is the server's domain for virtual hosts: the server takes the label before it for
// a bucket.
const VirtualDomain = "s3.test"

// Resolver resolves the names below `test.` and no others.
type Resolver struct{}

// LookupNetIP implements egress.Resolver: it returns 127.0.0.1 for a name below `test.` and "no
// such host" for any other.
func (Resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if !strings.HasSuffix(host, ".test") {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// Virtual returns the bucket with virtual-host addressing: its endpoint is VirtualDomain, before
// which the name of the bucket is put (store_c).
func (b Bucket) Virtual() Bucket {
	_, port, _ := strings.Cut(strings.TrimPrefix(b.Endpoint, "http://"), ":")
	b.Endpoint = "http://" + VirtualDomain + ":" + port
	return b
}

// New creates an empty bucket with a random name on the server that LARDER_TEST_S3 names. It is not
// removed. A short test is skipped; without the variable the test fails.
func New(t testing.TB) Bucket {
	t.Helper()
	if testing.Short() {
		t.Skip("short tests run without an S3 server")
	}
	base := os.Getenv("LARDER_TEST_S3")
	if base == "" {
		t.Fatal("LARDER_TEST_S3 is not set: run `make test`, or `eval \"$(scripts/services start)\"` first")
	}
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := u.User.Password()
	b := Bucket{Endpoint: u.Scheme + "://" + u.Host, Name: "larder-" + ident.New(rand.Reader).Hex(8),
		AccessKey: u.User.Username(), SecretKey: secret}
	if _, err := b.SDK(t).CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: &b.Name}); err != nil {
		t.Fatalf("make a bucket: %v", err)
	}
	return b
}

// SDK returns a client of the bucket's server that bypasses the code under test.
func (b Bucket) SDK(t testing.TB) *sdk.Client {
	client := Egress().Client()
	t.Cleanup(client.CloseIdleConnections)
	return sdk.New(sdk.Options{
		BaseEndpoint: &b.Endpoint, Region: "us-east-1", UsePathStyle: true, HTTPClient: client,
		Credentials: credentials.NewStaticCredentialsProvider(b.AccessKey, b.SecretKey, ""),
	})
}

// Keys lists all keys of the bucket, bypassing the code under test.
func (b Bucket) Keys(t testing.TB) []string {
	t.Helper()
	keys := []string{}
	pages := sdk.NewListObjectsV2Paginator(b.SDK(t), &sdk.ListObjectsV2Input{Bucket: &b.Name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Fatalf("list a bucket: %v", err)
		}
		for _, object := range page.Contents {
			keys = append(keys, *object.Key)
		}
	}
	return keys
}

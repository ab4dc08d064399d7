// Package s3test makes buckets on the S3 server that scripts/services started.
package s3test

import (
	"crypto/rand"
	"net/netip"
	"net/url"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"larder/internal/egress"
	"larder/internal/ident"
)

// Loopback is where the server is.
var Loopback = netip.MustParsePrefix("127.0.0.0/8")

// Bucket says where a bucket is and who may use it.
type Bucket struct {
	Endpoint  string // http://127.0.0.1:port
	Name      string
	AccessKey string
	SecretKey string
}

// Egress returns a policy that lets the server be reached.
func Egress() *egress.Policy { return &egress.Policy{Allow: []netip.Prefix{Loopback}} }

// New makes an empty bucket that no other test uses.
func New(t testing.TB) Bucket {
	t.Helper()
	base := os.Getenv("LARDER_TEST_S3")
	if base == "" {
		t.Fatal("LARDER_TEST_S3 is not set: run `make test`, or `eval \"$(scripts/services start)\"` first")
	}
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := u.User.Password()
	b := Bucket{Endpoint: u.Scheme + "://" + u.Host, Name: "larder-" + ident.New(rand.Reader).Hex(8), AccessKey: u.User.Username(), SecretKey: secret}
	if _, err := b.SDK(t).CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: &b.Name}); err != nil {
		t.Fatalf("make a bucket: %v", err)
	}
	return b
}

// SDK returns a client that speaks to the bucket's server past whatever is under test.
func (b Bucket) SDK(t testing.TB) *sdk.Client {
	client := Egress().Client()
	t.Cleanup(client.CloseIdleConnections)
	return sdk.New(sdk.Options{
		BaseEndpoint: &b.Endpoint, Region: "us-east-1", UsePathStyle: true, HTTPClient: client,
		Credentials: credentials.NewStaticCredentialsProvider(b.AccessKey, b.SecretKey, ""),
	})
}

package provider_test

import (
	"strings"
	"testing"

	"larder/internal/fault"
	"larder/internal/provider"
	"larder/internal/secret"
)

// Every field of a provider with a bucket, on both sides of its limit (specification: Storage
// provider).
func TestLimitsOfProvidersInBuckets(t *testing.T) {
	base := func(kind string) provider.Provider {
		return provider.Provider{Name: "n", Type: kind, Endpoint: "https://s3.example.org", Bucket: "bucket",
			AccessKeyID: "key", SecretKey: "secret"}
	}
	long := func(n int) string { return strings.Repeat("a", n) }
	host := "https://" + strings.Repeat(strings.Repeat("a", 60)+".", 4) // 252 bytes
	for _, row := range []struct {
		name   string
		change func(p *provider.Provider)
		b, c   bool // whether store_b and store_c accept it
	}{
		{"valid", func(*provider.Provider) {}, true, true},
		{"a name of 100", func(p *provider.Provider) { p.Name = strings.Repeat("é", 100) }, true, true},
		{"a name of 101", func(p *provider.Provider) { p.Name = strings.Repeat("é", 101) }, false, false},
		{"a region of 64", func(p *provider.Provider) { p.Region = long(64) }, true, true},
		{"a region of 65", func(p *provider.Provider) { p.Region = long(65) }, false, false},
		{"an endpoint of 255", func(p *provider.Provider) { p.Endpoint = host + "aaa" }, true, true},
		{"an endpoint of 256", func(p *provider.Provider) { p.Endpoint = host + "aaaa" }, false, false},
		{"no endpoint", func(p *provider.Provider) { p.Endpoint = "" }, false, false},
		{"an endpoint without a scheme", func(p *provider.Provider) { p.Endpoint = "s3.example.org" }, false, false},
		{"an endpoint with a slash", func(p *provider.Provider) { p.Endpoint += "/" }, true, true},
		{"an endpoint with a path", func(p *provider.Provider) { p.Endpoint += "/x" }, false, false},
		{"a bucket of 2", func(p *provider.Provider) { p.Bucket = "ab" }, false, false},
		{"a bucket of 3", func(p *provider.Provider) { p.Bucket = "abc" }, true, true},
		{"a bucket of 63", func(p *provider.Provider) { p.Bucket = long(63) }, true, true},
		{"a bucket of 64", func(p *provider.Provider) { p.Bucket = long(64) }, false, false},
		{"a bucket with capitals", func(p *provider.Provider) { p.Bucket = "Bucket" }, true, false},
		{"a bucket with an underscore", func(p *provider.Provider) { p.Bucket = "buck_et" }, true, false},
		{"a bucket with dots", func(p *provider.Provider) { p.Bucket = "buck.et" }, true, true},
		{"a bucket with two dots", func(p *provider.Provider) { p.Bucket = "buck..et" }, true, false},
		{"a bucket with a slash", func(p *provider.Provider) { p.Bucket = "buck/et" }, false, false},
		{"a bucket with a dash first", func(p *provider.Provider) { p.Bucket = "-bucket" }, false, false},
		{"a bucket with a dash last", func(p *provider.Provider) { p.Bucket = "bucket-" }, true, false},
		{"a bucket with a dot last", func(p *provider.Provider) { p.Bucket = "bucket." }, true, false},
		{"a bucket with a dash after a dot", func(p *provider.Provider) { p.Bucket = "buck.-et" }, true, false},
		{"a directory bucket", func(p *provider.Provider) { p.Bucket = "abc--use1-az4--x-s3" }, false, false},
		{"a directory bucket in capitals", func(p *provider.Provider) { p.Bucket = "abc--use1-az4--X-S3" }, false,
			false},
		{"a table bucket", func(p *provider.Provider) { p.Bucket = "abc--table-s3" }, false, false},
		{"an access point of Object Lambda", func(p *provider.Provider) { p.Bucket = "abc--ol-s3" }, false, false},
		{"an alias of an access point", func(p *provider.Provider) { p.Bucket = "abc-s3alias" }, false, false},
		{"an access point of several regions", func(p *provider.Provider) { p.Bucket = "abc.mrap" }, false, false},
		{"an ARN", func(p *provider.Provider) { p.Bucket = "arn:aws:s3:::bucket" }, false, false},
		{"a bucket that nearly has such a suffix", func(p *provider.Provider) { p.Bucket = "abc-x-s3" }, true, true},
		{"a bucket with such a suffix inside", func(p *provider.Provider) { p.Bucket = "abc--x-s3-d" }, true, true},
		{"a key of 256", func(p *provider.Provider) { p.AccessKeyID = secret.Text(long(256)) }, true, true},
		{"a key of 257", func(p *provider.Provider) { p.AccessKeyID = secret.Text(long(257)) }, false, false},
		{"a key with a space", func(p *provider.Provider) { p.AccessKeyID = "a b" }, false, false},
		{"no key", func(p *provider.Provider) { p.AccessKeyID = "" }, false, false},
		{"a secret of 256", func(p *provider.Provider) { p.SecretKey = secret.Text(long(256)) }, true, true},
		{"a secret of 257", func(p *provider.Provider) { p.SecretKey = secret.Text(long(257)) }, false, false},
		{"a secret with a line break", func(p *provider.Provider) { p.SecretKey = "a\n" }, false, false},
		{"no secret", func(p *provider.Provider) { p.SecretKey = "" }, false, false},
		{"a public domain of 255", func(p *provider.Provider) {
			p.PublicDomain = "https://cdn.example.org/" + long(231)
		}, true, true},
		{"a public domain of 256", func(p *provider.Provider) {
			p.PublicDomain = "https://cdn.example.org/" + long(232)
		}, false, false},
		{"an upload domain of 255", func(p *provider.Provider) {
			p.UploadDomain = "https://up.example.org/" + long(232)
		}, true, true},
		{"an upload domain of 256", func(p *provider.Provider) {
			p.UploadDomain = "https://up.example.org/" + long(233)
		}, false, false},
		{"an upload domain at port 65535", func(p *provider.Provider) { p.UploadDomain = "up.example.org:65535" }, true,
			true},
		{"an upload domain at port 65536", func(p *provider.Provider) { p.UploadDomain = "up.example.org:65536" },
			false, false},
		{"an upload domain at port 0", func(p *provider.Provider) { p.UploadDomain = "http://up.example.org:0" }, false,
			false},
		{"a prefix of 459", func(p *provider.Provider) { p.PathPrefix = strings.Repeat(long(64)+"/", 7) + "abcd" },
			true, true},
		{"a prefix of 460", func(p *provider.Provider) { p.PathPrefix = strings.Repeat(long(64)+"/", 7) + "abcde" },
			false, false},
		{"an unknown mode", func(p *provider.Provider) { p.UploadMode = "direct" }, false, false},
	} {
		for kind, want := range map[string]bool{provider.PathStyle: row.b, provider.VirtualHost: row.c} {
			p := base(kind)
			row.change(&p)
			if err := p.Check(); (err == nil) != want || err != nil && !fault.Is(err, fault.Invalid) {
				t.Errorf("%s, %s: %v", kind, row.name, err)
			}
		}
	}
}

// Each server has one spelling, so that providers on the same store are recognised.
func TestEndpointsAreSpeltOneWay(t *testing.T) {
	for given, want := range map[string]string{
		"https://S3.Example.org/": "https://s3.example.org", "https://s3.example.org:443": "https://s3.example.org",
		"http://s3.example.org:80/":   "http://s3.example.org",
		"http://s3.example.org:443":   "http://s3.example.org:443",
		"https://s3.example.org:8443": "https://s3.example.org:8443",
		"https://[2001:DB8::1]:443":   "https://[2001:db8::1]",
	} {
		p := provider.Provider{Name: "n", Type: provider.PathStyle, Endpoint: given, Bucket: "bucket",
			AccessKeyID: "key", SecretKey: "secret"}
		if err := p.Check(); err != nil || p.Endpoint != want {
			t.Errorf("%s: %s, %v, want %s", given, p.Endpoint, err, want)
		}
	}
}

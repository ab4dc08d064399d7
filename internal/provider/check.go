package provider

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"larder/internal/blob"
	"larder/internal/egress"
	"larder/internal/fault"
	"larder/internal/secret"
)

// Limits in characters. Specification: Storage provider.
const (
	maxName   = 100
	maxRegion = 64
	maxDomain = 255

	maxCredential = 256
	badCredential = "accessKeyId and secretAccessKey are required, 256 characters at most, without spaces."
)

// Check validates p, fills in defaults and normalises the values to the form that is stored. Fault:
// Invalid.
func (p *Provider) Check() error {
	if err := p.checkStoreLocation(); err != nil {
		return err
	}
	if p.UploadMode == "" {
		p.UploadMode = "auto"
	}
	p.PathPrefix = strings.Trim(p.PathPrefix, "/")
	switch {
	case strings.TrimSpace(p.Name) == "" || utf8.RuneCountInString(p.Name) > maxName ||
		strings.ContainsFunc(p.Name, unicode.IsControl):
		return fault.InvalidField("name", "A provider's name has 1 to 100 characters, none of them a control character.")
	case len(p.Region) > maxRegion || strings.ContainsFunc(p.Region, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fault.InvalidField("region", "A region has at most 64 printable ASCII characters and no spaces.")
	case !validDomain(p.PublicDomain):
		return fault.InvalidField("publicDomain", "publicDomain must be a host or an http(s) address.")
	case !validDomain(p.UploadDomain):
		return fault.InvalidField("uploadDomain", "uploadDomain must be a host or an http(s) address.")
	case !slices.Contains([]string{"auto", "presigned", "worker"}, p.UploadMode):
		return fault.InvalidField("uploadMode", "The upload mode is auto, presigned or worker.")
	}
	if _, err := blob.NewShard(p.PathPrefix, nil); err != nil {
		return fault.InvalidField("pathPrefix", "A path prefix is segments of 1 to 64 letters, digits, dots, "+
			"underscores and hyphens that begin with a letter or digit, joined by slashes, 459 characters in all; the "+
			"first must not be tmp.").WithCause(err)
	}
	p.CredentialsUnreadable = false // the credentials that the type needs have been checked
	return nil
}

// checkStoreLocation is Check for the fields that say where the store is: type, endpoint, region,
// bucket and credentials.
func (p *Provider) checkStoreLocation() error {
	switch p.Type {
	case BuiltIn:
		if p.Region == "" {
			p.Region = "auto"
		}
		switch {
		case p.Endpoint != "" || p.AccessKeyID != "" || p.SecretKey != "":
			return fault.InvalidField("endpoint", "endpoint, accessKeyId and secretAccessKey must be empty for store_a.")
		case !bucketNamePattern.MatchString(p.Bucket):
			return badBucket()
		}
		return nil
	case PathStyle, VirtualHost:
		return p.checkRemote()
	}
	return fault.InvalidField("type", "The type is store_a, store_b or store_c.")
}

// checkRemote is checkStoreLocation for an S3-compatible store.
func (p *Provider) checkRemote() error {
	endpoint, err := egress.ParseEndpoint(p.Endpoint)
	if err != nil {
		return fault.InField(err, "endpoint")
	}
	p.Endpoint = endpoint.Scheme + "://" + strings.ToLower(endpoint.Host)
	// each server has one spelling
	if at, usual := endpoint.Port(), map[string]string{"http": "80", "https": "443"}[endpoint.Scheme]; at == usual {
		p.Endpoint = strings.TrimSuffix(p.Endpoint, ":"+at)
	}
	if p.Region == "" {
		p.Region = "us-east-1"
	}
	switch {
	case strings.HasPrefix(p.Bucket, "arn:") ||
		slices.ContainsFunc(specialBucketSuffixes,
			func(end string) bool { return strings.HasSuffix(strings.ToLower(p.Bucket), end) }):
		return fault.InvalidField("bucket",
			"The name of a bucket must not be an ARN, nor end in --x-s3, --table-s3, --ol-s3, -s3alias or .mrap: "+
				"only general-purpose buckets are supported.")
	case !s3BucketPattern.MatchString(p.Bucket):
		return fault.InvalidField("bucket",
			"A bucket has 3 to 63 letters, digits, dots, underscores and hyphens and begins with a letter or digit.")
	case p.Type == VirtualHost && !hostBucketPattern.MatchString(p.Bucket):
		return fault.InvalidField("bucket",
			"A bucket of store_c is part of a host name: lower-case letters and digits, with dots and hyphens "+
				"between them.")
	case !validCredential(p.AccessKeyID):
		return fault.InvalidField("accessKeyId", badCredential)
	case !validCredential(p.SecretKey):
		return fault.InvalidField("secretAccessKey", badCredential)
	}
	return nil
}

// s3BucketPattern matches bucket names of S3-compatible servers. Some allow more than AWS does.
var s3BucketPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{2,62}$`)

// specialBucketSuffixes are the suffixes of names that are not reached at an endpoint, or not with
// signatures alone: directory buckets, table buckets, and aliases of access points. No ordinary
// bucket has such a name.
var specialBucketSuffixes = []string{"--x-s3", "--table-s3", "--ol-s3", "-s3alias", ".mrap"}

// hostBucketPattern matches bucket names that can precede a host name.
var hostBucketPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

// validCredential reports whether c can be an access key id or a secret key: 1 to maxCredential
// printable ASCII characters without spaces.
func validCredential(c secret.Text) bool {
	return c != "" && len(c) <= maxCredential &&
		!strings.ContainsFunc(c.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' })
}

// hostPattern matches a name, an IPv4 address, or an IPv6 address in brackets, with or without a
// port.
var hostPattern = regexp.MustCompile(
	`^([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)

// validDomain reports whether s can be a publicDomain or uploadDomain: empty, a host, or an http(s)
// address without credentials, query and fragment.
func validDomain(s string) bool {
	if s == "" || len(s) <= maxDomain && isHost(s) {
		return true
	}
	u, err := url.Parse(s)
	plain := !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' ||
			strings.ContainsRune("\"'<>\\`{}|^", r)
	})
	return err == nil && plain && len(s) <= maxDomain && (u.Scheme == "http" || u.Scheme == "https") &&
		isHost(u.Host) &&
		u.User == nil && u.RawQuery == "" && !u.ForceQuery && !strings.Contains(s, "#")
}

// isHost reports whether s is a host name or IP address, with or without a port from 1 to 65535.
func isHost(s string) bool {
	if !hostPattern.MatchString(s) {
		return false
	}
	port := (&url.URL{Host: s}).Port()
	number, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && number > 0
}

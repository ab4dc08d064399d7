package app

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"larder/internal/blob"
	"larder/internal/blob/s3"
	"larder/internal/config"
	"larder/internal/egress"
	"larder/internal/ident"
	"larder/internal/provider"
)

// bucketScheme begins the address of a backup in a bucket.
const bucketScheme = "s3://"

// IsBucketAddress reports whether the address of a backup is a bucket, as in s3://bucket/prefix.
func IsBucketAddress(address string) bool { return strings.HasPrefix(address, bucketScheme) }

// bucketNames matches the names of buckets on S3 servers, older and newer ones.
var bucketNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$`)

// parseBucketAddress returns the bucket and the prefix of an address. The prefix has the form of
// provider.Provider.PathPrefix.
func parseBucketAddress(address string) (bucket, prefix string, err error) {
	bucket, prefix, _ = strings.Cut(strings.TrimPrefix(address, bucketScheme), "/")
	prefix = strings.TrimSuffix(prefix, "/")
	if !bucketNames.MatchString(bucket) {
		return "", "", fmt.Errorf("%s is not the address of a bucket, such as s3://my-backups/larder", address)
	}
	if _, err := blob.NewShard(prefix, nil); err != nil {
		return "", "", fmt.Errorf("%s is not the address of a bucket: a prefix consists of letters, digits, dots, "+
			"underscores and hyphens between slashes", address)
	}
	return bucket, prefix, nil
}

// BackupBucket returns the options for a backup to the bucket at address, with the server and the
// credentials of a provider, given by its id or name, or with those of the settings when named is
// "".
func (a *App) BackupBucket(ctx context.Context, address, named string) (s3.Options, error) {
	if named == "" {
		return settingsBucket(a.Config, address, a.egressPolicy(a.Config.AllowPrivateEndpoints), a.ids, a.deps.Limits)
	}
	bucket, prefix, err := parseBucketAddress(address)
	if err != nil {
		return s3.Options{}, err
	}
	p, err := a.providerNamed(ctx, named)
	if err != nil {
		return s3.Options{}, err
	}
	o := a.Providers.Options(p)
	// no addresses for clients, and no metrics of the provider
	o.Bucket, o.Prefix, o.UploadDomain, o.WrapTransport = bucket, prefix, "", nil
	return o, nil
}

// providerNamed returns the provider with a bucket that has this id, or else this name.
func (a *App) providerNamed(ctx context.Context, named string) (provider.Provider, error) {
	all, err := a.Providers.All(ctx)
	if err != nil {
		return provider.Provider{}, err
	}
	var found []provider.Provider
	for _, p := range all {
		if p.ID == named {
			found = []provider.Provider{p}
			break
		}
		if p.Name == named {
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 0:
		return provider.Provider{}, fmt.Errorf("there is no provider %q", named)
	case len(found) > 1:
		return provider.Provider{}, fmt.Errorf("%d providers have the name %q: give the id of one", len(found), named)
	case found[0].Type == provider.BuiltIn:
		return provider.Provider{}, fmt.Errorf("provider %q has no bucket and no credentials", named)
	case found[0].CredentialsUnreadable:
		return provider.Provider{}, fmt.Errorf("the credentials of provider %q can't be read: enter them again", named)
	}
	return found[0], nil
}

// RestoreBucket returns the options for a restore from the bucket at address, with the server and
// the credentials of the settings.
func RestoreBucket(cfg config.Config, deps Deps, address string) (s3.Options, error) {
	return settingsBucket(cfg, address, &egress.Policy{Allow: cfg.AllowPrivateEndpoints, Resolver: deps.Resolver},
		ident.New(deps.Random), deps.Limits)
}

func settingsBucket(cfg config.Config, address string, policy *egress.Policy, ids *ident.Source,
	limits s3.Limits) (s3.Options, error) {
	bucket, prefix, err := parseBucketAddress(address)
	if err != nil {
		return s3.Options{}, err
	}
	if cfg.BackupEndpoint == "" || cfg.BackupAccessKeyID == "" || cfg.BackupSecretAccessKey == "" {
		return s3.Options{}, errors.New("the server of the bucket is not set: give LARDER_BACKUP_ENDPOINT, " +
			"LARDER_BACKUP_ACCESS_KEY_ID and LARDER_BACKUP_SECRET_ACCESS_KEY, or for a backup --provider")
	}
	return s3.Options{
		Endpoint: cfg.BackupEndpoint, Region: cfg.BackupRegion, Bucket: bucket, Prefix: prefix,
		AccessKey: cfg.BackupAccessKeyID.Reveal(), SecretKey: cfg.BackupSecretAccessKey.Reveal(),
		PathStyle: cfg.BackupPathStyle, Egress: policy, IDs: ids, Limits: limits,
	}, nil
}

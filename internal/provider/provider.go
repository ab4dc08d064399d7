// Package provider stores the records of storage providers and opens their stores.
//
// A store that is missing or failing is reported as fault.Unavailable and never as "not found". The
// built-in store (store_a) of a provider is the directory <objectDir>/<bucket>. A marker file there
// contains an id that the provider's row contains as well, so that a disk that is not mounted is
// noticed before anything is written to the directory beneath. Providers on one bucket share its
// directory, its marker and its open store. Their keys are random, so they never collide, whatever
// the prefixes (abuse case C20).
//
// Specification: Storage provider.
package provider

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/disk"
	"larder/internal/blob/s3"
	"larder/internal/db"
	"larder/internal/egress"
	"larder/internal/fault"
	"larder/internal/ident"
	"larder/internal/secret"
)

// The types of providers.
const (
	BuiltIn     = "store_a" // on the local disk
	PathStyle   = "store_b" // an S3-compatible server, the bucket in the path
	VirtualHost = "store_c" // a cloud vendor's store, the bucket in front of the host name
)

// Provider is the record of a provider. Its credentials are sealed in the database. Times are in
// milliseconds.
type Provider struct {
	ID, Name string
	Type     string // store_a, store_b or store_c
	// of an S3-compatible store: https:// or http://, a host, an optional port; "" for store_a,
	// like the credentials
	Endpoint     string
	Region       string
	Bucket       string
	AccessKeyID  secret.Text
	SecretKey    secret.Text // secretAccessKey
	PublicDomain string      // a host or an http(s) address, "" for none; likewise UploadDomain
	UploadDomain string
	PathPrefix   string // of object keys, in the form of blob.NewShard
	UploadMode   string // auto, presigned or worker
	Redirect     bool
	Marker       string // store_a: the id in the store's marker file
	// the credentials in the row were sealed for another row or with another key; they are empty
	// here
	CredentialsUnreadable bool

	// the job that moves all objects to the provider EvacuateTo; "" for none
	EvacuationID, EvacuateTo string

	CreatedAt, UpdatedAt int64
}

// Presigns reports whether the store can presign addresses at which clients download and upload
// bytes.
func (p Provider) Presigns() bool { return p.Type != BuiltIn }

// Config holds the dependencies of a Registry.
type Config struct {
	DB        *db.DB
	ObjectDir string // the parent directory of the built-in store's buckets
	MinFree   int64  // bytes of free space below which uploads are refused
	// nil to read records only: they have no credentials then, and no bucket can be opened
	Secrets *secret.Keyring
	Egress  *egress.Policy // decides which endpoints may be reached
	Limits  s3.Limits      // time limits of stores in buckets
	IDs     *ident.Source
	Now     func() time.Time
	// MachineNow is the clock of this machine, which dates files and signs requests; nil when it is
	// Now
	MachineNow func() time.Time
	// WrapTransport returns what wraps the transport to the bucket of a provider, for metrics; nil
	// for none
	WrapTransport func(p Provider) s3.TransportWrapper
	// ObserveDisk returns the Observer of the operations in a bucket of the built-in store, for
	// metrics; nil for none
	ObserveDisk func(bucket string) disk.Observer
}

// Registry reads providers and opens their stores. All methods are safe for concurrent use. Close
// it at the end.
type Registry struct {
	cfg    Config
	cached *db.VersionedMap[string, Provider]

	mu           sync.Mutex
	disks        map[diskName]*disk.Store
	buckets      map[string]openBucket   // by provider id
	sweptAt      map[string]time.Time    // when this process last swept the bucket of a provider
	statusChecks map[string]*statusCheck // the newest check of each provider

	ctx      context.Context // of the status checks
	stop     context.CancelFunc
	checking sync.WaitGroup
}

// openBucket is an open store in a bucket, and the record it was opened with.
type openBucket struct {
	provider Provider
	store    *s3.Store
}

// New returns a Registry. It does not access any store.
func New(cfg Config) *Registry {
	if cfg.MachineNow == nil {
		cfg.MachineNow = cfg.Now
	}
	r := &Registry{
		cfg: cfg, cached: db.NewVersionedMap[string, Provider](1000), disks: map[diskName]*disk.Store{},
		buckets: map[string]openBucket{}, statusChecks: map[string]*statusCheck{},
		sweptAt: map[string]time.Time{},
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// Close closes the stores once their running operations are done.
func (r *Registry) Close() error {
	r.mu.Lock()
	r.stop() // no status check starts after this
	r.mu.Unlock()
	r.waitForStatusChecks()
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	for name, store := range r.disks {
		err = errors.Join(err, store.Close())
		delete(r.disks, name)
	}
	for id, b := range r.buckets {
		b.store.Close()
		delete(r.buckets, id)
	}
	return err
}

// diskName identifies an open store on a disk.
type diskName struct{ bucket, marker string }

// bucketNamePattern matches bucket names of the built-in store, which become names of directories.
var bucketNamePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// dir returns the directory of a bucket of the built-in store. Fault: Invalid for a name that
// cannot be a directory.
func (r *Registry) dir(bucket string) (string, error) {
	if !bucketNamePattern.MatchString(bucket) {
		return "", badBucket()
	}
	return filepath.Join(r.cfg.ObjectDir, bucket), nil
}

// badBucket returns the fault Invalid for the field bucket of a built-in store.
func badBucket() error {
	return fault.InvalidField("bucket",
		"A bucket of the built-in store has 1 to 63 letters, digits, dots, underscores and hyphens and begins with a "+
			"letter or digit.")
}

// Prepare creates the directory of a new built-in store with marker as its id. Call it before the
// row with that marker is committed. Repeating the call succeeds. A directory with other contents
// is refused. Faults: Invalid for a bucket that cannot be a directory or whose directory is in use
// for something else, Unavailable when it cannot be created.
func (r *Registry) Prepare(bucket, marker string) error {
	dir, err := r.dir(bucket)
	if err != nil {
		return err
	}
	err = disk.MakeDir(r.cfg.ObjectDir)
	if err == nil {
		err = disk.Create(dir, marker)
	}
	switch {
	case errors.Is(err, disk.ErrForeign):
		return fault.InvalidField("bucket", "The directory of this bucket already exists and is not empty.").
			WithCause(err)
	case err != nil:
		return fault.New(fault.Unavailable, "The directory of this bucket could not be created.").WithCause(err)
	}
	return nil
}

// ErrGone is the cause of the fault for a provider that no longer exists.
var ErrGone = errors.New("no such provider")

// Store returns the open store of the provider id. Fault: Unavailable for a provider that is
// unknown or cannot be opened. A store that is missing or does not answer shows only when it is
// used.
func (r *Registry) Store(ctx context.Context, id string) (blob.Store, error) {
	version, err := db.ConfigVersion(r.cfg.DB.Read(ctx))
	if err != nil {
		return nil, fmt.Errorf("read the config version: %w", err)
	}
	return r.StoreAt(ctx, version, id)
}

// ByIDAt is ByID with a cache, for a caller that knows the present config version. Fault: NotFound.
func (r *Registry) ByIDAt(ctx context.Context, version int64, id string) (Provider, error) {
	return r.cached.Get(version, id, func() (Provider, error) { return r.ByID(ctx, id) })
}

// StoreAt is Store with a cache of the record, for a caller that knows the present config version.
// Fault: Unavailable.
func (r *Registry) StoreAt(ctx context.Context, version int64, id string) (blob.Store, error) {
	p, err := r.ByIDAt(ctx, version, id)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.Unavailable, "The storage of this file is not set up any more.").
			WithCause(fmt.Errorf("%w: %s", ErrGone, id))
	}
	if err != nil {
		return nil, err
	}
	return r.open(p)
}

// open returns the store of a provider's record, opened at the first call and shared later. Faults:
// Invalid, Unavailable.
func (r *Registry) open(p Provider) (blob.Store, error) {
	if p.CredentialsUnreadable {
		return nil, fault.New(fault.Unavailable, UnavailableMessage).
			WithCause(fmt.Errorf("provider %s: its credentials cannot be decrypted", p.ID))
	}
	if p.Type != BuiltIn {
		return r.bucketStore(p)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name := diskName{p.Bucket, p.Marker}
	if store := r.disks[name]; store != nil {
		return store, nil
	}
	dir, err := r.dir(p.Bucket)
	if err != nil {
		return nil, err
	}
	options := disk.Options{MinFree: r.cfg.MinFree, Now: r.cfg.Now}
	if r.cfg.ObserveDisk != nil {
		options.Observe = r.cfg.ObserveDisk(p.Bucket)
	}
	store, err := disk.Open(dir, p.Marker, options)
	if err != nil {
		return nil, fmt.Errorf("open the store of provider %s: %w", p.ID, err)
	}
	r.disks[name] = store
	return store, nil
}

// bucketStore returns the store of a provider with a bucket. It opens another one when the record
// has changed. Fault: Unavailable.
func (r *Registry) bucketStore(p Provider) (blob.Store, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if open := r.buckets[p.ID]; open.store != nil && open.provider == p {
		return open.store, nil
	}
	store, err := s3.Open(r.Options(p))
	if err != nil {
		return nil, fault.New(fault.Unavailable, "The storage of this file is not set up any more.").
			WithCause(fmt.Errorf("open provider %s: %w", p.ID, err))
	}
	if old := r.buckets[p.ID].store; old != nil {
		old.Close()
	}
	r.buckets[p.ID] = openBucket{p, store}
	return store, nil
}

// Options returns the options with which the bucket of a provider is opened.
func (r *Registry) Options(p Provider) s3.Options {
	options := s3.Options{
		Endpoint: p.Endpoint, Region: p.Region, Bucket: p.Bucket, AccessKey: p.AccessKeyID.Reveal(),
		SecretKey: p.SecretKey.Reveal(),
		PathStyle: p.Type == PathStyle, Prefix: p.PathPrefix, UploadDomain: p.UploadDomain, Egress: r.cfg.Egress,
		IDs: r.cfg.IDs, Limits: r.cfg.Limits,
	}
	if wrap := r.cfg.WrapTransport; wrap != nil {
		options.WrapTransport = wrap(p)
	}
	return options
}

// CheckEndpoint checks that the provider's endpoint may be reached (specification: Storage
// provider). Fault: Invalid.
func (r *Registry) CheckEndpoint(ctx context.Context, p Provider) error {
	if p.Type == BuiltIn {
		return nil
	}
	endpoint, err := egress.ParseEndpoint(p.Endpoint)
	if err != nil {
		return err
	}
	return fault.InField(r.cfg.Egress.Check(ctx, endpoint), "endpoint")
}

const (
	// tempAge is the age at which no upload writes to a temporary file any more. The pauses of a
	// body end with its session, after an hour.
	tempAge = 3 * time.Hour
	// uploadAge is the age at which no session can continue an unfinished upload in a bucket.
	// Another session takes an upload over within 48 hours of its beginning, and lives for up to 24
	// hours; one day is added for differing clocks.
	uploadAge = 96 * time.Hour

	bucketSweepInterval = time.Hour        // time between two sweeps of a bucket
	bucketSweepTimeout  = 20 * time.Second // for sweeping one bucket; the rest waits for the next sweep
)

// Sweep removes half-written objects that crashes have left in the stores of all providers. It
// skips a store that is not available. It sweeps at most one bucket per call, since other sweeps
// wait for it.
func (r *Registry) Sweep(ctx context.Context) error {
	all, err := r.All(ctx)
	if err != nil {
		return err
	}
	swept := false
	for _, p := range all {
		if p.Type != BuiltIn && (swept || !r.claimSweep(p.ID)) {
			continue
		}
		store, err := r.Store(ctx, p.ID)
		switch store := store.(type) {
		case *disk.Store:
			_, err = store.SweepTemp(r.cfg.MachineNow().Add(-tempAge))
		case *s3.Store:
			swept = true
			err = r.sweepBucket(ctx, store)
		}
		if err != nil && !errors.Is(err, blob.ErrUnavailable) && !fault.Is(err, fault.Unavailable) {
			return fmt.Errorf("sweep provider %s: %w", p.ID, err)
		}
	}
	return nil
}

// claimSweep reports whether this process has to sweep the bucket of the provider id now, once in
// bucketSweepInterval, and records the sweep as done.
func (r *Registry) claimSweep(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.cfg.Now()
	if last, known := r.sweptAt[id]; known && now.Sub(last) < bucketSweepInterval && !now.Before(last) {
		return false
	}
	r.sweptAt[id] = now
	return true
}

// sweepBucket removes the unfinished uploads and test objects that crashes have left in a bucket,
// for at most bucketSweepTimeout. Running out of time is no error.
func (r *Registry) sweepBucket(ctx context.Context, store *s3.Store) error {
	limited, cancel := context.WithTimeout(ctx, bucketSweepTimeout)
	defer cancel()
	if _, err := store.Sweep(limited, r.cfg.Now().Add(-uploadAge)); err != nil && limited.Err() == nil {
		return err
	}
	return ctx.Err()
}

// The messages of Fault for a store that is full, and for one that does not answer.
const (
	FullMessage        = "The storage is nearly full and refuses new files."
	UnavailableMessage = "The storage is not available at the moment."
)

// Fault converts an error of a store into a fault: Unverified for a body that does not have the
// announced size, TooLarge for one over the limit, Unavailable for a store that is missing, failing
// or full. It returns other errors as they are.
func Fault(err error) error {
	var size blob.ErrSize
	var existing *fault.Error
	switch {
	case err == nil || errors.As(err, &existing):
		return err
	case errors.As(err, &size):
		return fault.New(fault.Unverified, "The content does not have the announced length.").WithCause(err)
	case errors.Is(err, blob.ErrTooLarge):
		return fault.New(fault.TooLarge, "The content is larger than allowed.").WithCause(err)
	case errors.Is(err, blob.ErrNoSpace):
		return fault.New(fault.Unavailable, FullMessage).WithCause(err)
	case errors.Is(err, blob.ErrUnavailable):
		return fault.New(fault.Unavailable, UnavailableMessage).WithCause(err)
	}
	return err
}

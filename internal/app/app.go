// Package app assembles the service: New builds it bottom-up, Run serves until its context ends and
// stops the parts in reverse order. It can be started several times in one process.
package app

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/api"
	"larder/internal/apikey"
	"larder/internal/audit"
	"larder/internal/blob/s3"
	"larder/internal/config"
	"larder/internal/db"
	"larder/internal/dirimport"
	"larder/internal/download"
	"larder/internal/egress"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/freemode"
	"larder/internal/fsck"
	"larder/internal/ident"
	"larder/internal/job"
	"larder/internal/kv"
	"larder/internal/letter"
	"larder/internal/lifecycle"
	"larder/internal/mail"
	"larder/internal/mount"
	"larder/internal/notice"
	"larder/internal/object"
	"larder/internal/osfile"
	"larder/internal/pictures"
	"larder/internal/provider"
	"larder/internal/secret"
	"larder/internal/share"
	"larder/internal/site"
	"larder/internal/thumb"
	"larder/internal/upload"
	"larder/web"
)

// Deps holds the dependencies that tests replace.
type Deps struct {
	Now    func() time.Time
	Random io.Reader
	Log    *slog.Logger
	Out    io.Writer     // receives the address and, on the first start, the administrator's password
	Drain  time.Duration // time for requests in flight to finish at a stop, 0 for 30 s
	Cut    time.Duration // time for them to clean up after their connections were closed, 0 for 5 s

	Version string // of this binary, shown to administrators

	Resolver egress.Resolver // for the host names of stores, nil for that of the system
	Limits   s3.Limits       // time limits of stores in buckets

	MailRoots  *x509.CertPool // certificate authorities of mail servers, nil for those of the system
	MailLimits mail.Limits    // time limits of mail servers

	HashMemory uint32 // KiB that the hash of a new password takes, 0 for the production default

	OnHash func(account.Source) // called before a password is hashed, once the hash has its slot; nil for none

	RedisTimeout time.Duration // for one operation on a rate limit, 0 for 2 s
	OwnClock     bool          // rate limits and leases of replicas follow Now, not the clock of Redis or the database

	ThumbTime time.Duration // for one child that makes a thumbnail; 0 for 10 s, and 1 minute in the background
	// QueueTime is how long hashes of passwords, searches of visitors, calls of buckets in the free
	// mode and requests for thumbnails wait for their turn; 0 for 10 s, and 20 s for thumbnails.
	QueueTime time.Duration

	UI fs.FS // the web UI, nil for the one built into the binary

	// periodic sweeps run only when Sweep is called; for tests with a clock of their own
	ManualSweep bool
}

// App is the assembled service. Its parts are exported for the command line.
type App struct {
	Config        config.Config
	BaseURL       string
	DB            *db.DB
	Site          *site.Store
	Accounts      *account.Service
	Keys          *apikey.Service
	Rules         *access.Store
	Mounts        *mount.Store
	Providers     *provider.Registry
	Objects       *object.Registry
	Tree          *files.Tree
	Uploads       *upload.Service
	Shares        *share.Service
	Downloads     *download.Service
	Lifecycle     *lifecycle.Service
	FreeMode      *freemode.Service
	Jobs          *job.Runner
	MailJobs      *job.Runner // runs the jobs that send mails, which must not wait for moves
	ScrubJobs     *job.Runner // runs the scrub, for which moves must not wait
	Letters       *letter.Service
	Fsck          *fsck.Service
	Imports       *dirimport.Service
	Announcements *site.Announcements
	Thumbs        *thumb.Maker       // nil if thumbnails are switched off
	Pictures      *pictures.Examiner // runs only with Thumbs
	Notices       *notice.Service
	Audit         *audit.Log // nil after Open: only the server writes the access log

	deps             Deps
	machineNow       func() time.Time
	clock            *databaseClock // nil unless the times of this process follow the database
	metrics          *metrics       // nil without the operations listener
	auditDB          *db.DB
	damagedAuditFile string // the new name of an access log that was malformed at this start; "" if none was
	// the last check could not open the backup of LARDER_SCRUB_BACKUP
	scrubBackupMissing atomic.Bool
	masterKey          *secret.Keyring
	ids                *ident.Source
	counters           kv.Store
	guesses            kv.Store
	seedDone           atomic.Bool
	listener           net.Listener
	opsListener        net.Listener
	api                *api.API
	server             *http.Server
	servingMu          sync.RWMutex // read-locked by each request in progress
	unlock             func() error
	replica            db.Replica    // this process, once New has registered it
	joined             bool          // the row of this process exists
	outdated           chan error    // receives the reason why this process must stop
	trimRequested      chan struct{} // holds a value while an account may have too much garbage
}

// Open builds everything that uses the database, without listening: the parts that commands other
// than `serve` need. It does not change the schema. Error: ErrMoved for a database that was copied
// to another engine. The caller calls Close.
func Open(ctx context.Context, cfg config.Config, deps Deps) (*App, error) {
	a, err := open(ctx, cfg, deps, false)
	if err != nil {
		return nil, err
	}
	if err := a.checkNotMoved(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// open opens the service for the server (serving is true) or for another command. Only the server
// has metrics, and caches that need db.Changes. It does not look whether the database was moved.
func open(ctx context.Context, cfg config.Config, deps Deps, serving bool) (*App, error) {
	machineNow := deps.Now
	var clock *databaseClock
	if cfg.Postgres() && !deps.OwnClock {
		clock = &databaseClock{own: machineNow}
		deps.Now = clock.Now
	}
	a := &App{Config: cfg, BaseURL: cfg.BaseURL, deps: deps, machineNow: machineNow, clock: clock,
		ids: ident.New(deps.Random), trimRequested: make(chan struct{}, 1), outdated: make(chan error, 1)}
	if err := makePrivateDir(cfg.DataDir); err != nil {
		return nil, err
	}
	if err := checkRestoreFinished(cfg.DataDir); err != nil {
		return nil, err
	}
	keys, err := masterKey(cfg, deps.Random)
	if err != nil {
		return nil, err
	}
	database := db.Config{URL: cfg.DatabaseURL.Reveal(), Path: cfg.DatabaseFile(), Log: deps.Log,
		CacheBytes: cfg.DatabaseCache - cfg.DatabaseCache/auditCacheShares, TrackChanges: serving}
	if deps.OwnClock {
		database.Now = deps.Now
	}
	if serving && cfg.OpsListen != "" {
		a.metrics = newMetrics()
		database.ObserveWrite, database.ObserveRead = a.metrics.observeWrite, a.metrics.observeRead
	}
	a.DB, err = db.Open(ctx, database)
	if err != nil {
		return nil, err
	}
	if clock != nil {
		if err := clock.follow(ctx, a.DB, deps.Log); err != nil {
			return nil, errors.Join(err, a.DB.Close())
		}
	}
	if a.counters, err = openCounters(cfg, deps); err != nil {
		return nil, errors.Join(err, a.DB.Close())
	}
	if a.guesses, err = openGuesses(cfg, deps, a.DB); err != nil {
		return nil, errors.Join(err, a.counters.Close(), a.DB.Close())
	}
	a.masterKey = keys
	a.build()
	return a, nil
}

// build creates the domain packages and connects them. Where one package needs something of another
// that it does not import, it gets a function.
func (a *App) build() {
	now, d := a.deps.Now, a.DB
	a.Site = site.New(d, a.masterKey)
	a.Announcements = site.NewAnnouncements(d, a.ids, now)
	a.Letters = letter.New(letter.Config{
		DB: d, Site: a.Site, BaseURL: func() string { return a.BaseURL },
		Sender: &mail.Sender{
			Roots: a.deps.MailRoots, Now: now, IDs: a.ids, Limits: a.deps.MailLimits,
			Dial: a.egressPolicy(a.Config.SMTPAllowPrivate).DialContext,
		},
	})
	a.MailJobs = job.NewRunner(job.Config{DB: d, IDs: a.ids, Now: now, Log: a.deps.Log})
	a.Accounts = account.New(account.Config{
		DB: d, IDs: a.ids, Random: a.deps.Random, Keys: a.masterKey, Now: now, Log: a.deps.Log, Letters: a.Letters,
		Wake: a.MailJobs.Wake, HashMemory: a.deps.HashMemory, HashWait: a.deps.QueueTime,
		OnHash: a.deps.OnHash,
	})
	a.MailJobs.Handle(account.VerifyMailJob, a.Accounts.MailVerification)
	a.MailJobs.Handle(account.ResendMailJob, a.Accounts.MailVerificationAgain)
	a.MailJobs.Handle(account.ResetMailJob, a.Accounts.MailReset)
	a.Keys = apikey.New(d, a.ids, now)
	a.Rules = access.NewStore(d, now, func(ctx context.Context, version int64) (bool, error) {
		settings, err := a.Site.Current(ctx, version)
		return settings.AllowGuestAccess, err
	})
	a.Mounts = mount.New(d)
	a.Providers = provider.New(provider.Config{
		DB: d, ObjectDir: a.Config.ObjectDir, MinFree: a.Config.MinFree, Secrets: a.masterKey, IDs: a.ids, Now: now,
		Egress: a.egressPolicy(a.Config.AllowPrivateEndpoints), Limits: a.deps.Limits,
		MachineNow: a.machineNow, WrapTransport: a.metrics.wrapTransport(),
		ObserveDisk: a.metrics.observeDisk(),
	})
	a.Jobs = job.NewRunner(job.Config{DB: d, IDs: a.ids, Now: now, Log: a.deps.Log})
	a.Objects = object.New(object.Config{
		DB: d, Providers: a.Providers, IDs: a.ids, Now: now, Grace: a.Config.GarbageGrace, Log: a.deps.Log,
		Cache: object.NewCache(a.Config.ObjectCache),
		TrimSoon: func() {
			select {
			case a.trimRequested <- struct{}{}:
			default: // a trim is requested already
			}
		},
		Unreserved: upload.Unreserved,
	})
	a.Tree = files.New(files.Config{
		DB: d, Policies: a.Rules, Mounts: a.Mounts, Providers: a.Providers, Objects: a.Objects, IDs: a.ids, Now: now,
		Log:   a.deps.Log,
		Owner: a.owner, Key: a.key, Wake: a.Jobs.Wake, Active: a.Accounts.IsActive,
		Successor: func(q db.Querier, userID string) (files.Successor, error) {
			return a.Lifecycle.Successor(q, userID)
		},
		Trash:      a.trashSettings,
		EntryCache: files.NewEntryCache(a.Config.EntryCache, d.Changes()),
	})
	a.Keys.OnRevoke = a.Tree.DropLocks
	a.Jobs.Handle(files.MoveJob, a.Tree.RunMove)
	a.Jobs.Handle(files.CopyJob, a.Tree.RunCopy)
	a.Jobs.Handle(files.PurgeJob, a.Tree.RunPurge)
	a.Jobs.Handle(files.RewindJob, a.Tree.RunRewind)
	a.Jobs.OnFailure(files.CopyJob, func(tx *db.Tx, run *job.Run) error { return a.Tree.DropCopy(tx, run.ID) })
	a.Jobs.OnEnd(files.MoveJob, a.Tree.NotifyEnd)
	a.Jobs.OnEnd(files.CopyJob, a.Tree.NotifyEnd)
	a.Jobs.OnEnd(files.RewindJob, a.Tree.NotifyEnd)
	a.Notices = notice.New(notice.Config{DB: d, IDs: a.ids, Now: now})
	a.Jobs.Handle(object.ChecksumJob, a.Objects.RunChecksum)
	a.Uploads = upload.New(upload.Config{DB: d, Tree: a.Tree, Objects: a.Objects, Providers: a.Providers, IDs: a.ids,
		Now: now, Log: a.deps.Log})
	a.Shares = share.New(share.Config{DB: d, Tree: a.Tree, Accounts: a.Accounts, IDs: a.ids, Now: now})
	a.Downloads = download.New(download.Config{DB: d, Tree: a.Tree, Accounts: a.Accounts, Keys: a.Keys,
		Shares: a.Shares, IDs: a.ids, Now: now})
	a.Lifecycle = lifecycle.New(lifecycle.Config{
		DB: d, Accounts: a.Accounts, Tree: a.Tree, Objects: a.Objects, Mounts: a.Mounts, Providers: a.Providers,
		Policies: a.Rules, Site: a.Site, IDs: a.ids, Now: now,
		Keys: a.Keys, Uploads: a.Uploads, Wake: a.Jobs.Wake,
		MaxStorage: a.Config.DefaultMaxStorage, MaxFiles: a.Config.DefaultMaxFiles,
	})
	a.Jobs.Handle(lifecycle.HandoverJob, a.Lifecycle.RunHandover)
	a.Jobs.Handle(lifecycle.EvacuateJob, a.Lifecycle.RunEvacuation)
	a.Jobs.OnEnd(lifecycle.EvacuateJob, a.Lifecycle.EndEvacuation)
	visitors := a.egressPolicy(a.Config.FreeModeAllowPrivateEndpoints)
	visitors.Ports = freemode.PortAllowed
	a.FreeMode = freemode.New(freemode.Config{DB: d, Secrets: a.masterKey, Egress: visitors, IDs: a.ids, Now: now,
		CallWait: a.deps.QueueTime})
	a.Thumbs = a.newThumbMaker()
	a.Pictures = pictures.New(pictures.Config{DB: d, Tree: a.Tree, Thumbs: a.Thumbs, Now: now, Log: a.deps.Log})
	a.ScrubJobs = job.NewRunner(job.Config{DB: d, IDs: a.ids, Now: now, Log: a.deps.Log})
	a.Fsck = fsck.New(fsck.Config{DB: d, Tree: a.Tree, Objects: a.Objects, Providers: a.Providers, Now: now,
		Log: a.deps.Log, ScrubRate: a.Config.ScrubRate, ScrubBuckets: a.Config.ScrubBuckets,
		WakeScrub: a.ScrubJobs.Wake, OpenBackup: a.scrubBackup()})
	a.ScrubJobs.Handle(fsck.ScrubJob, a.Fsck.RunScrub)
	a.ScrubJobs.OnEnd(fsck.ScrubJob, a.Fsck.EndScrub)
	a.Imports = dirimport.New(dirimport.Config{DB: d, Tree: a.Tree, Uploads: a.Uploads, Now: now,
		Own: []string{a.Config.DataDir, a.Config.ObjectDir}, CheckUsable: a.checkUsable})
}

// trashSettings returns the present settings of the trash: for how many days it keeps entries, and
// whether it takes deletions that do not say where.
func (a *App) trashSettings(ctx context.Context) (files.TrashSettings, error) {
	version, err := db.ConfigVersion(a.DB.Read(ctx))
	if err != nil {
		return files.TrashSettings{}, err
	}
	settings, err := a.Site.Current(ctx, version)
	return files.TrashSettings{Days: settings.TrashDays, All: settings.TrashAll}, err
}

// owner returns the account userID as an actor, whose rights then decide, and whether the account
// is active; false for an unknown one. version is the config version that the caller has read.
func (a *App) owner(ctx context.Context, version int64, userID string) (access.Actor, bool, error) {
	user, err := a.Accounts.Cached(ctx, version, userID)
	if fault.Is(err, fault.NotFound) {
		return access.Actor{}, false, nil
	}
	return access.Actor{UserID: user.ID, Role: user.Role, HomeID: user.HomeID}, user.Status == "active", err
}

// key returns the permissions of an API key, and whether the key can be used from the address ip
// now: it is active, and allows the address for one of its protocols. It returns nil and false for
// an unknown key. version is the config version that the caller has read.
func (a *App) key(ctx context.Context, version int64, keyID string, ip netip.Addr) (*access.Key, bool, error) {
	key, err := a.Keys.ByID(ctx, version, keyID)
	if fault.Is(err, fault.NotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	here := slices.ContainsFunc(key.Protocols, func(protocol string) bool { return key.Allows(protocol, ip) == nil })
	return key.Scope(), here && key.Status(a.deps.Now()) == "active", nil
}

// New is Open for `larder serve`: it also locks the data directory, binds the listeners and
// migrates the schema.
func New(ctx context.Context, cfg config.Config, deps Deps) (*App, error) {
	unlock := func() error { return nil }
	if !cfg.Postgres() {
		if err := makePrivateDir(cfg.DataDir); err != nil {
			return nil, err
		}
		var err error
		if unlock, err = lockDir(cfg.DataDir); err != nil {
			return nil, err
		}
	}
	a, err := open(ctx, cfg, deps, true)
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	a.unlock = unlock
	if err := a.start(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// start does the part of New that can fail after the App is open: it checks the address of the
// backup of the scrub, binds the listeners, migrates the schema and joins as a replica, checks the
// database and the key, opens the access log and builds the handler. The caller closes the App
// after an error.
func (a *App) start(ctx context.Context) (err error) {
	if _, err := a.scrubBackupOptions(ctx); err != nil {
		return err
	}
	if a.listener, err = net.Listen("tcp", a.Config.Listen); err != nil {
		return fmt.Errorf("listen on %s: %w", a.Config.Listen, err)
	}
	a.BaseURL = a.Config.BaseURLAt(a.listener.Addr().String())
	if a.Config.OpsListen != "" {
		if a.opsListener, err = net.Listen("tcp", a.Config.OpsListen); err != nil {
			return fmt.Errorf("listen on %s: %w", a.Config.OpsListen, err)
		}
	}
	if err := a.join(ctx); err != nil {
		return err
	}
	if err := a.checkNotMoved(ctx); err != nil { // after join, see checkAlone
		return err
	}
	if err := a.checkKey(ctx); err != nil { // after join, see lifecycle.RotateKey
		return err
	}
	former, err := a.Site.FormerKeys(ctx)
	if err != nil {
		return err
	}
	if err := a.openAudit(ctx); err != nil {
		return err
	}
	a.api, err = api.New(api.Config{
		DB: a.DB, Site: a.Site, Accounts: a.Accounts, Keys: a.Keys, Rules: a.Rules, Mounts: a.Mounts, Tree: a.Tree,
		Uploads: a.Uploads, Shares: a.Shares,
		Downloads: a.Downloads, Lifecycle: a.Lifecycle, FreeMode: a.FreeMode, Captcha: a.captchaVerifier(),
		Letters: a.Letters, Counters: a.counters, Attempts: a.guesses,
		Secrets: a.masterKey.WithFormer(former, a.deps.Now),
		Audit:   a.Audit, Announcements: a.Announcements, Thumbs: a.Thumbs, Notices: a.Notices, IDs: a.ids,
		BaseURL:        a.BaseURL,
		SearchWait:     a.deps.QueueTime,
		TrustedProxies: a.Config.TrustedProxies, AuthRateLimit: a.Config.AuthRateLimit,
		LinkMaxAge: a.Config.LinkMaxAge, CaptchaProvider: a.Config.CaptchaProvider,
		CaptchaReady: a.Config.CaptchaVerifyURL != "", Development: a.Config.Development,
		Now: a.deps.Now, Log: a.deps.Log, OpenSpoolFile: a.spool, CheckSpoolSpace: a.checkSpoolSpace, UI: a.ui(),
		StoreAddresses: a.Providers.BrowserAddresses, Started: a.seedDone.Load, Ready: a.ready,
		Version: a.deps.Version, MinFree: a.Config.MinFree, StoreStatuses: a.Providers.StoreStatuses,
		Warnings: a.warnings, Observe: a.metrics.requestObserver(),
	})
	if err != nil {
		return err
	}
	a.server = &http.Server{
		Handler: a.trackServing(closeHTTP10(slowClientHandler{next: a.api, grace: time.Minute,
			rate: 1 << 10})),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64<<10 - 4096, // net/http adds 4 KiB to this limit
		ErrorLog:          slog.NewLogLogger(a.deps.Log.Handler(), slog.LevelDebug),
		Protocols:         new(http.Protocols),
		ConnContext:       withConn,
	}
	a.server.Protocols.SetHTTP1(true)
	return nil
}

// ui returns the web UI to serve: that of Deps, or the one built into the binary.
func (a *App) ui() fs.FS {
	if a.deps.UI != nil {
		return a.deps.UI
	}
	return web.Dist()
}

// Close releases the resources of Open and New, for an App that is not running.
func (a *App) Close() error {
	var errs []error
	for _, l := range []net.Listener{a.listener, a.opsListener} {
		if l != nil {
			if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	if a.auditDB != nil {
		if err := a.auditDB.Close(); err != nil { // failures of the access log are only logged
			a.deps.Log.Error("close the access log", "error", err)
		}
	}
	a.leave(context.Background())
	a.FreeMode.Close()
	if a.Thumbs != nil {
		a.Thumbs.Close()
	}
	errs = append(errs, a.counters.Close(), a.guesses.Close(), a.Providers.Close(), a.DB.Close())
	if a.unlock != nil {
		errs = append(errs, a.unlock())
	}
	return errors.Join(errs...)
}

// spool opens a temporary file without a name in the data directory. Closing the file frees its
// space.
func (a *App) spool() (*os.File, error) {
	return osfile.CreateUnnamed(a.Config.DataDir, "spool-*")
}

// checkSpoolSpace returns the fault Unavailable when the disk of the data directory has less free
// space than the setting MinFree.
func (a *App) checkSpoolSpace() error {
	free, err := osfile.FreeBytes(a.Config.DataDir)
	if err != nil {
		return fmt.Errorf("ask for free space: %w", err)
	}
	if free < a.Config.MinFree {
		return fault.New(fault.Unavailable, "The storage is nearly full and refuses new files.")
	}
	return nil
}

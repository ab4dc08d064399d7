package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"larder/internal/blob/disk"
	"larder/internal/config"
	"larder/internal/db"
	"larder/internal/files"
	"larder/internal/kv"
	"larder/internal/kv/memory"
	"larder/internal/kv/postgres"
	"larder/internal/kv/redis"
	"larder/internal/object"
	"larder/internal/quota"
	"larder/internal/secret"
)

// makePrivateDir creates a directory that only its owner can read. An existing directory keeps its
// mode, since it may be a mounted volume.
func makePrivateDir(dir string) error {
	if err := disk.MakeDir(dir); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	return nil
}

// lockDir locks the data directory against a second server. The lock ends with the process.
func lockDir(dir string) (unlock func() error, err error) {
	path := filepath.Join(dir, "larder.lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("the data directory %s is in use by another Larder", dir)
		}
		return nil, errors.Join(err, file.Close())
	}
	return file.Close, nil
}

func masterKey(cfg config.Config, random io.Reader) (*secret.Keyring, error) {
	if cfg.SecretKey != "" {
		return secret.New([]byte(cfg.SecretKey.Reveal()))
	}
	key, err := secret.LoadOrCreate(cfg.KeyFile(), random)
	if err != nil {
		return nil, err
	}
	return secret.New(key)
}

func openCounters(cfg config.Config, deps Deps) (kv.Store, error) {
	if cfg.RedisURL != "" {
		return redis.New(cfg.RedisURL.Reveal(),
			redis.Options{Now: deps.Now, Log: deps.Log, Timeout: deps.RedisTimeout, OwnClock: deps.OwnClock})
	}
	return memory.New(deps.Now, 0), nil
}

// openGuesses opens the store that counts wrong passwords by target: in Redis if it is configured,
// else in PostgreSQL, else in memory. It shares no memory with the store of the other counters,
// whose names clients choose, and which could evict these counts.
func openGuesses(cfg config.Config, deps Deps, d *db.DB) (kv.Store, error) {
	switch {
	case cfg.RedisURL != "":
		return redis.New(cfg.RedisURL.Reveal(), redis.Options{
			Now: deps.Now, Log: deps.Log, Timeout: deps.RedisTimeout, Prefix: "larder:guesses:",
			OwnClock: deps.OwnClock,
		})
	case cfg.Postgres():
		var opts postgres.Options
		if deps.OwnClock {
			opts.Now = deps.Now
		}
		return postgres.New(d, opts), nil
	}
	return memory.New(deps.Now, 0), nil
}

// sweepGuesses deletes expired counts of wrong passwords from the database.
func (a *App) sweepGuesses(ctx context.Context) error {
	if table, ok := a.guesses.(*postgres.Store); ok {
		return table.Sweep(ctx)
	}
	return nil
}

// opsHandler serves metrics and profiles. It is never reachable through the public listener (abuse
// case C121).
func (a *App) opsHandler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "larder_passwords_waiting", Help: "Passwords waiting to be hashed.",
	}, func() float64 { return float64(a.Accounts.WaitingHashes()) }))
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "larder_kept_bytes", Help: "Bytes in the trash and of versions.",
	}, a.keptBytes))
	registry.MustRegister(objectCacheMetrics(a.Objects.Cache)...)
	registry.MustRegister(entryCacheMetrics(a.Tree.EntryCache)...)
	if shared, ok := a.counters.(*redis.Store); ok {
		registry.MustRegister(redisMetrics(shared)...)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// keptBytes is the value of larder_kept_bytes, NaN when it cannot be read.
func (a *App) keptBytes() float64 {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	bytes, err := quota.TotalKept(a.DB.Read(ctx))
	if err != nil {
		return math.NaN()
	}
	return float64(bytes)
}

// objectCacheMetrics shows the use of the cache of small objects.
func objectCacheMetrics(cache *object.Cache) []prometheus.Collector {
	return []prometheus.Collector{
		counter("larder_object_cache_hits_total", "Small files that were sent from memory.",
			func() uint64 { return cache.Stats().Hits }),
		counter("larder_object_cache_misses_total", "Small files that were read from their store.",
			func() uint64 { return cache.Stats().Misses }),
		counter("larder_object_cache_evictions_total", "Small files that the cache gave up for others.",
			func() uint64 { return cache.Stats().Evictions }),
		gauge("larder_object_cache_bytes", "Bytes of memory that the cache of small files takes.",
			func() uint64 { return cache.Stats().Bytes }),
	}
}

// entryCacheMetrics shows the use of the cache of the places and rights of files.
func entryCacheMetrics(cache *files.EntryCache) []prometheus.Collector {
	return []prometheus.Collector{
		counter("larder_entry_cache_hits_total", "Files that were found in memory.",
			func() uint64 { return cache.Stats().Hits }),
		counter("larder_entry_cache_misses_total", "Files that were looked up in the database.",
			func() uint64 { return cache.Stats().Misses }),
		gauge("larder_entry_cache_bytes", "Bytes of memory, about, that the cache of found files takes.",
			func() uint64 { return cache.Stats().Bytes }),
	}
}

func counter(name, help string, value func() uint64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
		func() float64 { return float64(value()) })
}

func gauge(name, help string, value func() uint64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
		func() float64 { return float64(value()) })
}

// redisMetrics shows the state of the rate limiter, so that operators notice when replicas count
// separately.
func redisMetrics(store *redis.Store) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "larder_redis_down",
			Help: "1 while Redis is down and rate limits count in this process alone, else 0.",
		}, func() float64 {
			if store.State().Down {
				return 1
			}
			return 0
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "larder_redis_outages_total", Help: "Outages of Redis.",
		}, func() float64 { return float64(store.State().Outages) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "larder_rate_limit_local_total",
			Help: "Rate limit checks that counted in this process alone because Redis did not answer.",
		}, func() float64 { return float64(store.State().LocalTakes) }),
	}
}

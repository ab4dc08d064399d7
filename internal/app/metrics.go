package app

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"larder/internal/api"
	"larder/internal/blob/disk"
	"larder/internal/blob/s3"
	"larder/internal/files"
	"larder/internal/kv/redis"
	"larder/internal/object"
	"larder/internal/provider"
)

// metrics counts what this process does, from its start on. docs/metrics.md describes all metrics.
// Its label values are few: no path, id of a file or account, or address is one.
type metrics struct {
	requests      *prometheus.CounterVec   // method, route, status
	requestTime   *prometheus.HistogramVec // route
	received      *prometheus.CounterVec   // route
	sent          *prometheus.CounterVec   // route
	inFlight      prometheus.Gauge
	writeTime     prometheus.Histogram
	readTime      prometheus.Histogram
	storeRequests *prometheus.CounterVec   // provider, name, method, status
	storeTime     *prometheus.HistogramVec // provider, name, method
	diskOps       *prometheus.CounterVec   // bucket, operation, outcome
	diskTime      *prometheus.HistogramVec // bucket, operation
}

// durationBuckets are the upper bounds in seconds of the histograms of durations: from a read that
// is answered from memory to an upload over a slow line.
var durationBuckets = []float64{.001, .005, .025, .1, .25, 1, 2.5, 10, 60}

// newMetrics returns the metrics of a process, all 0.
func newMetrics() *metrics {
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	times := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Name: name, Help: help, Buckets: durationBuckets}, labels)
	}
	return &metrics{
		requests: counters("larder_http_requests_total", "Answered requests.", "method", "route", "status"),
		requestTime: times("larder_http_request_duration_seconds",
			"Time from the head of a request to the end of its response.", "route"),
		received: counters("larder_http_received_bytes_total", "Bytes of request bodies.", "route"),
		sent:     counters("larder_http_sent_bytes_total", "Bytes of response bodies.", "route"),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "larder_http_requests_in_flight",
			Help: "Requests that are being answered."}),
		writeTime: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "larder_database_write_duration_seconds",
			Help: "Time of a transaction, including the time that it waits for others.", Buckets: durationBuckets}),
		readTime: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "larder_database_read_duration_seconds",
			Help: "Time of a query until the database begins to answer.", Buckets: durationBuckets}),
		storeRequests: counters("larder_store_requests_total",
			"Requests to buckets by status; the status is 0 when there was no answer.",
			"provider", "name", "method", "status"),
		storeTime: times("larder_store_request_duration_seconds",
			"Time from a request to a bucket to the head of its answer.", "provider", "name", "method"),
		diskOps: counters("larder_disk_operations_total", "Operations of the built-in store by outcome.",
			"bucket", "operation", "outcome"),
		diskTime: times("larder_disk_operation_duration_seconds",
			"Time of a completed operation of the built-in store, without that in which it read a body.",
			"bucket", "operation"),
	}
}

// register adds the counters of m to the registry that the operations listener serves. It does
// nothing for a nil m.
func (m *metrics) register(registry *prometheus.Registry) {
	if m == nil {
		return
	}
	registry.MustRegister(m.requests, m.requestTime, m.received, m.sent, m.inFlight, m.writeTime, m.readTime,
		m.storeRequests, m.storeTime, m.diskOps, m.diskTime)
}

// requestObserver returns the function that counts an answered request, for api.Config.Observe; nil
// for a nil m.
func (m *metrics) requestObserver() func(api.Observation) {
	if m == nil {
		return nil
	}
	return func(o api.Observation) {
		m.requests.WithLabelValues(o.Method, o.Route, strconv.Itoa(o.Status)).Inc()
		m.requestTime.WithLabelValues(o.Route).Observe(o.Took.Seconds())
		m.received.WithLabelValues(o.Route).Add(float64(o.Received))
		m.sent.WithLabelValues(o.Route).Add(float64(o.Sent))
	}
}

// observeWrite calls write, which is one db.DB.Write, and measures its time, see db.Config. It
// returns the error of write.
func (m *metrics) observeWrite(write func() error) error {
	began := time.Now()
	defer func() { m.writeTime.Observe(time.Since(began).Seconds()) }()
	return write()
}

// observeRead measures a query, from now until the returned function is called, see db.Config.
func (m *metrics) observeRead() (answered func()) {
	began := time.Now()
	return func() { m.readTime.Observe(time.Since(began).Seconds()) }
}

// wrapTransport returns the function by which a provider's requests to its bucket are counted and
// measured, see provider.Config; nil for a nil m.
func (m *metrics) wrapTransport() func(provider.Provider) s3.TransportWrapper {
	if m == nil {
		return nil
	}
	return func(p provider.Provider) s3.TransportWrapper {
		return func(next http.RoundTripper) http.RoundTripper { return &measuredTransport{next, m, p.ID, p.Name} }
	}
}

// observeDisk returns the function that makes the Observer of a bucket of the built-in store, see
// provider.Config; nil for a nil m. The Observer has looked its metrics up before the first
// operation, since it runs at each read of a file from the disk.
func (m *metrics) observeDisk() func(bucket string) disk.Observer {
	if m == nil {
		return nil
	}
	type operation struct {
		completed, failed prometheus.Counter
		time              prometheus.Observer
	}
	return func(bucket string) disk.Observer {
		all := map[disk.Operation]operation{}
		for _, op := range disk.Operations {
			name := string(op)
			all[op] = operation{m.diskOps.WithLabelValues(bucket, name, "completed"),
				m.diskOps.WithLabelValues(bucket, name, "failed"), m.diskTime.WithLabelValues(bucket, name)}
		}
		return func(op disk.Operation, took time.Duration, failed bool) {
			if failed {
				all[op].failed.Inc()
				return
			}
			all[op].completed.Inc()
			all[op].time.Observe(took.Seconds())
		}
	}
}

// measuredTransport is an http.RoundTripper that counts and measures the requests to one bucket.
type measuredTransport struct {
	http.RoundTripper
	metrics      *metrics
	id, provider string
}

// RoundTrip implements http.RoundTripper.
func (t *measuredTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	response, err := t.RoundTripper.RoundTrip(r)
	status := 0
	if err == nil {
		status = response.StatusCode
	}
	t.metrics.storeRequests.WithLabelValues(t.id, t.provider, r.Method, strconv.Itoa(status)).Inc()
	t.metrics.storeTime.WithLabelValues(t.id, t.provider, r.Method).Observe(time.Since(began).Seconds())
	return response, err
}

// CloseIdleConnections passes the call of the same name by http.Client to the inner transport.
func (t *measuredTransport) CloseIdleConnections() {
	(&http.Client{Transport: t.RoundTripper}).CloseIdleConnections()
}

// registry returns all metrics of this process and the state of the installation.
func (a *App) registry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	a.metrics.register(registry)
	registry.MustRegister(&stateCollector{a},
		gauge("larder_passwords_waiting", "Passwords waiting to be hashed.",
			func() uint64 { return uint64(a.Accounts.WaitingHashes()) }))
	for name, pool := range a.DB.Pools() {
		registry.MustRegister(collectors.NewDBStatsCollector(pool, name))
	}
	if thumbs := a.Thumbs; thumbs != nil {
		registry.MustRegister(gauge("larder_thumbnail_cache_bytes", "Bytes on disk of the cache of thumbnails.",
			func() uint64 { _, bytes := thumbs.CacheSize(); return uint64(bytes) }))
	}
	registry.MustRegister(objectCacheMetrics(a.Objects.Cache)...)
	registry.MustRegister(entryCacheMetrics(a.Tree.EntryCache)...)
	if shared, ok := a.counters.(*redis.Store); ok {
		registry.MustRegister(redisMetrics(shared)...)
	}
	return registry
}

// objectCacheMetrics returns the metrics of the cache that keeps small objects in memory.
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

// entryCacheMetrics returns the metrics of the cache that keeps the places and rights of files in
// memory.
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

// counter returns a metric that only grows; value is called each time that the metrics are read.
func counter(name, help string, value func() uint64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
		func() float64 { return float64(value()) })
}

// gauge returns a metric that can fall; value is called each time that the metrics are read.
func gauge(name, help string, value func() uint64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
		func() float64 { return float64(value()) })
}

// redisMetrics returns the metrics of the connection to Redis, so that operators notice when
// replicas count rate limits separately.
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

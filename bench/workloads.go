package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

const smallConnections = 8

// pair is one workload on both servers, with one outcome of each per round.
type pair struct {
	id, name          string
	cpuGoal, rateGoal float64 // ratios to the reference: an upper and a lower limit; 0 for none
	bytes             int64   // per request, for rates in MB/s; 0 for rates in requests
	growthGoal        int64   // bytes; 0 for none

	larder, reference []outcome
}

// bench is the measurement on one engine.
type bench struct {
	options
	engine    string
	dir       string   // for all files, on the measured disk
	cluster   *cluster // nil for SQLite
	site      *installation
	token     string
	larder    *server
	reference *server
	bucket    *bucket // nil without W2
	serial    int     // makes names unique

	pairs        []*pair
	figures      []figure
	moves, waits []float64 // of W6, ms, by round
	firstBytes   []float64 // of W5: first bytes, ms
	davHeader    string    // the Authorization header line of a WebDAV key

	replicaPairs []*pair // W10: two replicas beside one

	peers       []*peer   // that were measured
	besidePeers []outcome // of the reference
}

// measure runs the selected workloads on each engine and returns the report.
func measure(ctx context.Context, o options) (report string, err error) {
	if o.binary, err = filepath.Abs(o.binary); err != nil {
		return "", err
	}
	report = heading(o)
	for _, engine := range o.engines() {
		fmt.Fprintln(os.Stderr, engine)
		b := &bench{options: o, engine: engine}
		if err := b.runAll(ctx); err != nil {
			return "", fmt.Errorf("%s: %w", engine, err)
		}
		report += b.report()
	}
	return report, nil
}

// runAll runs all selected workloads on one engine, with files and servers that it removes at the
// end.
func (b *bench) runAll(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "larder-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.engine == onPostgres {
		if b.cluster, err = startCluster(ctx); err != nil {
			return err
		}
		defer b.cluster.remove()
	}
	if b.wants("W8", "W7") {
		if err := b.startsAndMemory(ctx); err != nil {
			return fmt.Errorf("W7 and W8: %w", err)
		}
	}
	if b.wants("W1", "W2", "W3", "W4", "W5", "W6", "PEERS") {
		if b.site, err = b.newInstallation(ctx, "larder"); err != nil {
			return err
		}
		if b.profile != "" {
			if b.site.ops, err = freeAddress(); err != nil {
				return err
			}
		}
		if err := b.compareWithReference(ctx); err != nil {
			return err
		}
		b.folderFigures()
		b.listingFigures()
	}
	if b.wants("W4") {
		for _, connections := range []int{smallConnections, 32} {
			if err := b.countSyncs(ctx, connections); err != nil {
				return fmt.Errorf("count syncs: %w", err)
			}
		}
	}
	if b.wants("W7") {
		if err := b.memoryAfterUploads(ctx); err != nil {
			return fmt.Errorf("W7: %w", err)
		}
	}
	if b.wants("W10") && b.engine == onPostgres {
		if err := b.compareReplicas(ctx); err != nil {
			return fmt.Errorf("W10: %w", err)
		}
	}
	if b.wants("W9", "W6") && b.entries > 0 {
		return b.measureLargeTree(ctx)
	}
	return nil
}

// compareWithReference starts both servers and runs the workloads that have a reference, round by
// round.
func (b *bench) compareWithReference(ctx context.Context) (err error) {
	shared := filepath.Join(b.dir, "reference")
	if err := writeReferenceFile(shared); err != nil {
		return err
	}
	if b.reference, err = startReference(ctx, shared); err != nil {
		return err
	}
	defer b.reference.stop()
	if b.larder, err = b.site.start(ctx); err != nil {
		return err
	}
	defer b.larder.stop()
	if b.token, err = b.site.key(ctx, "admin"); err != nil {
		return err
	}
	if b.davHeader, err = b.site.davKey(ctx, "admin"); err != nil {
		return err
	}
	ways, err := b.site.uploadSmallFile(ctx, b.larder, b.token)
	if err != nil {
		return err
	}
	if b.wants("W2") {
		if err := b.setUpBucket(ctx); err != nil {
			return fmt.Errorf("W2: %w", err)
		}
		defer b.bucket.stop()
	}
	for round := range b.rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, b.rounds)
		for _, step := range []func(context.Context, addresses) error{b.readSmall, b.transferLarge, b.writeSmall,
			b.listings, b.folders} {
			if err := step(ctx, ways); err != nil {
				return err
			}
		}
	}
	if b.wants("PEERS") && b.engine == b.engines()[0] {
		return b.comparePeers(ctx, shared)
	}
	return nil
}

// runPair runs a workload of n requests over that many connections on both servers, the reference
// first, and records the outcomes. reference and larder build the requests by number.
func (b *bench) runPair(ctx context.Context, p pair, connections, n int, reference, larder func(i int) request) error {
	known := pairIn(&b.pairs, p)
	there, err := run(ctx, b.reference, connections, n, reference)
	if err != nil {
		return fmt.Errorf("%s %s, reference: %w", p.id, p.name, err)
	}
	profiled := b.profiled(ctx, p)
	here, err := run(ctx, b.larder, connections, n, larder)
	if err := profiled(); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", p.id, p.name, err)
	}
	fmt.Fprintf(os.Stderr, "  %s %s: CPU %v against %v: %.2f×\n", p.id, p.name, here.cpuPerRequest(),
		there.cpuPerRequest(), float64(here.cpu)/float64(max(1, there.cpu)))
	known.reference, known.larder = append(known.reference, there), append(known.larder, here)
	return nil
}

// pairIn returns the pair with the id and the name of p from list. If list contains no such pair,
// pairIn appends p and returns it.
func pairIn(list *[]*pair, p pair) *pair {
	for _, each := range *list {
		if each.id == p.id && each.name == p.name {
			return each
		}
	}
	*list = append(*list, &p)
	return &p
}

// same returns a function that builds the same request for each number.
func same(r request) func(int) request { return func(int) request { return r } }

// readSmall runs a round of W1: reads of a small file by each of its addresses.
func (b *bench) readSmall(ctx context.Context, ways addresses) error {
	if !b.wants("W1") {
		return nil
	}
	plain := same(request{method: "GET", path: "/f.jpg"})
	public, private := 1.0, 1.4
	if b.engine == onPostgres { // where each request asks the database
		public, private = 2, 2
	}
	for _, way := range []struct {
		name string
		goal float64
		request
	}{
		{"GET 20 KB, public path", public, ways.publicPath},
		{"GET 20 KB, permanent link", public, ways.permanentLink},
		{"GET 20 KB, session", private, ways.withSession},
		{"GET 20 KB, API key", private, ways.withKey},
	} {
		if err := b.runPair(ctx, pair{id: "W1", name: way.name, cpuGoal: way.goal}, smallConnections, b.reads, plain,
			same(way.request)); err != nil {
			return err
		}
	}
	return nil
}

// transferLarge runs a round of W3, uploads of a large file, and then of W2, which reads that file.
func (b *bench) transferLarge(ctx context.Context, ways addresses) error {
	if !b.wants("W3") && !b.wants("W2") {
		return nil
	}
	b.serial++
	name := "large" + strconv.Itoa(b.serial) + ".bin"
	size := fmt.Sprintf("%d MiB", b.large>>20)
	put := request{method: "PUT", path: "/" + name, body: b.large}
	upload := request{method: "POST", path: "/api/upload", body: b.large,
		headers: []string{"Authorization: Bearer " + b.token, "X-File-Name: " + name,
			"Content-Type: application/x-large"}}
	err := b.runPair(ctx, pair{id: "W3", name: "upload of " + size + ", raw", cpuGoal: 2.3, rateGoal: 0.7,
		bytes:      b.large,
		growthGoal: 8 << 20}, 1, 1, same(put), same(upload))
	if err != nil {
		return err
	}
	davPut := request{method: "PUT", path: "/webdav/uploads/dav-" + name, body: b.large,
		headers: []string{b.davHeader, "Content-Type: application/x-large"}}
	err = b.runPair(ctx, pair{id: "W3", name: "PUT of " + size + " by WebDAV", cpuGoal: 2.3, rateGoal: 0.7,
		bytes:      b.large,
		growthGoal: 8 << 20}, 1, 1, same(put), same(davPut))
	if err != nil || !b.wants("W2") {
		return err
	}
	get, read := request{method: "GET", path: "/" + name}, ways.withSession
	read.path = "/uploads/" + name
	if err := b.runPair(ctx, pair{id: "W2", name: "GET " + size + ", session", cpuGoal: 1.3, rateGoal: 0.9,
		bytes:      b.large,
		growthGoal: 4 << 20}, 1, 1, same(get), same(read)); err != nil {
		return err
	}
	read.path = bucketFile
	return b.runPair(ctx, pair{id: "W2", name: "GET " + size + " from S3, session", cpuGoal: 4, bytes: b.large}, 1, 1,
		same(get), same(read))
}

// writeSmall runs a round of W4: uploads of small files.
func (b *bench) writeSmall(ctx context.Context, _ addresses) error {
	if !b.wants("W4") {
		return nil
	}
	b.serial++
	put := func(i int) request {
		return request{method: "PUT", path: fmt.Sprintf("/s%d-%d.bin", b.serial, i), body: smallFile}
	}
	err := b.runPair(ctx, pair{id: "W4", name: "upload of 20 KB, 8 connections", cpuGoal: 3.5, rateGoal: 0.2},
		smallConnections, b.uploads, put, b.smallUpload(b.serial))
	if err != nil {
		return err
	}
	b.serial++
	davPut := func(i int) request {
		r := put(i)
		r.path, r.headers = "/webdav/uploads"+r.path, []string{b.davHeader, "Content-Type: application/x-small"}
		return r
	}
	return b.runPair(ctx, pair{id: "W4", name: "PUT of 20 KB by WebDAV, 8 connections", cpuGoal: 3.5, rateGoal: 0.2},
		smallConnections, b.uploads, put, davPut)
}

// smallUpload returns a function that builds the upload of a small file by number; serial makes the
// names differ from those of other runs.
func (b *bench) smallUpload(serial int) func(i int) request { return smallUpload(b.token, serial) }

// smallUpload returns a function that builds the upload of a small file with the API key token, as
// bench.smallUpload does with the key of the bench.
func smallUpload(token string, serial int) func(i int) request {
	return func(i int) request {
		return request{method: "POST", path: "/api/upload", body: smallFile, headers: []string{
			"Authorization: Bearer " + token, fmt.Sprintf("X-File-Name: s%d-%d.bin", serial, i),
			"Content-Type: application/x-small",
		}}
	}
}

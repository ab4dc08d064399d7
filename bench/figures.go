package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// figure is a measured value of the server alone, with its upper limit.
type figure struct {
	id, name, value, goal string
	met                   bool
}

// recordLimit records a value of the workload id with its upper limit goal, both written by format.
func (b *bench) recordLimit(id, name string, value, goal float64, format func(float64) string) {
	b.addFigure(figure{id: id, name: name, value: format(value), goal: "≤ " + format(goal), met: value <= goal})
}

// addFigure prints a figure to stderr and adds it to the report.
func (b *bench) addFigure(f figure) {
	fmt.Fprintf(os.Stderr, "  %s %s: %s\n", f.id, f.name, f.value)
	b.figures = append(b.figures, f)
}

// record adds a value of the workload id that has no limit.
func (b *bench) record(id, name, value string) {
	b.addFigure(figure{id: id, name: name, value: value, met: true})
}

func microseconds(n float64) string { return fmt.Sprintf("%.0f µs", n) }
func megabytes(n float64) string    { return fmt.Sprintf("%.1f MB", n/1e6) }
func milliseconds(n float64) string {
	return fmt.Sprintf("%.0f ms", n)
}
func plainNumber(n float64) string { return fmt.Sprintf("%.2f", n) }

// median returns the median of at least one value.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// startsAndMemory runs W8, the time from a start to readiness, and the first half of W7, the
// memory, on fresh directories and then on the same ones again.
func (b *bench) startsAndMemory(ctx context.Context) error {
	var first, warm, idle, busy []float64
	for round := range b.rounds {
		s, err := b.newInstallation(ctx, fmt.Sprintf("start%d", round))
		if err != nil {
			return err
		}
		for again := range 2 {
			begin := time.Now()
			p, err := s.start(ctx)
			if err != nil {
				return err
			}
			took := float64(time.Since(begin).Microseconds()) / 1000
			if again == 0 {
				first = append(first, took)
			} else {
				warm = append(warm, took)
				quiet, loaded, err := memoryOf(p)
				if err != nil {
					p.stop()
					return err
				}
				idle, busy = append(idle, quiet), append(busy, loaded)
			}
			p.stop()
		}
	}
	b.recordLimit("W8", "first start to readiness", median(first), 500, milliseconds)
	b.recordLimit("W8", "later start to readiness", median(warm), 60, milliseconds)
	b.recordLimit("W7", "memory, idle", median(idle), 30e6, megabytes)
	b.recordLimit("W7", "memory, 256 connections", median(busy), 60e6, megabytes)
	return nil
}

// ownMemory is the field of /proc/PID/status that counts the memory which a process holds for
// itself. Resident memory also counts the pages of the program, which the kernel maps as it likes
// and can drop at any time.
const ownMemory = "RssAnon"

// memoryOf returns the bytes of memory that the server holds for itself, before and while 256
// connections are open, each after one request.
func memoryOf(p *server) (idle, busy float64, err error) {
	before, err := p.memory(ownMemory)
	if err != nil {
		return 0, 0, err
	}
	for range 256 {
		c, err := connect(p)
		if err != nil {
			return 0, 0, err
		}
		defer c.close()
		if _, err := c.do(request{method: "GET", path: "/api/public/health/live"}); err != nil {
			return 0, 0, err
		}
	}
	after, err := p.memory(ownMemory)
	return float64(before), float64(after), err
}

// memoryUploads is the number of uploads before the second half of W7.
const memoryUploads = 30_000

// memoryAfterUploads runs the second half of W7: the memory after many uploads, while 256
// connections are open.
func (b *bench) memoryAfterUploads(ctx context.Context) error {
	s, err := b.newInstallation(ctx, "memory")
	if err != nil {
		return err
	}
	p, err := s.start(ctx)
	if err != nil {
		return err
	}
	defer p.stop()
	if b.token, err = s.key(ctx, "admin"); err != nil {
		return err
	}
	if _, err := run(ctx, p, 32, memoryUploads, b.smallUpload(0)); err != nil {
		return err
	}
	_, busy, err := memoryOf(p)
	if err != nil {
		return err
	}
	b.recordLimit("W7", fmt.Sprintf("memory, 256 connections, after %d uploads", memoryUploads), busy, 60e6, megabytes)
	return nil
}

// countSyncs runs the part of W4 that counts syncs: it uploads over that many connections under
// strace, between two counts, and records the syncs of an upload, those of PostgreSQL included.
func (b *bench) countSyncs(ctx context.Context, connections int) (err error) {
	trace := filepath.Join(b.dir, fmt.Sprintf("syncs%d", connections))
	strace := func(output string) []string {
		return []string{"strace", "-D", "-f", "-q", "--seccomp-bpf", "-e", "trace=fsync,fdatasync", "-o", output}
	}
	traces := []string{trace}
	if c := b.cluster; c != nil { // include the syncs of PostgreSQL
		traces = append(traces, filepath.Join(c.dir, filepath.Base(trace)))
		c.stop()
		if err := c.start(ctx, strace(traces[1])...); err != nil {
			return err
		}
		defer func() { // strace makes all other work of the processes slower
			c.stop()
			err = errors.Join(err, c.start(ctx))
		}()
	}
	p, err := b.site.start(ctx, strace(trace)...)
	if err != nil {
		return err
	}
	defer p.stop()
	b.serial++
	before, err := syncsIn(traces)
	if err != nil {
		return err
	}
	n := min(b.uploads, 1000)
	if _, err := run(ctx, p, connections, n, b.smallUpload(b.serial)); err != nil {
		return err
	}
	after, err := syncsIn(traces)
	if err != nil {
		return err
	}
	goal := 2.6
	if connections > smallConnections {
		goal = 1.5
	}
	b.recordLimit("W4", fmt.Sprintf("syncs an upload, %d connections", connections), float64(after-before)/float64(n),
		goal,
		plainNumber)
	return nil
}

// syncsIn returns the number of successful calls in the files traces, the output of strace, which
// writes line by line.
func syncsIn(traces []string) (n int, err error) {
	for _, trace := range traces {
		text, err := os.ReadFile(trace)
		if err != nil {
			return 0, err
		}
		n += countLines(text, " = 0")
	}
	return n, nil
}

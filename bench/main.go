// Command bench measures the server beside a reference and prints the results as Markdown tables.
//
// The reference is a minimal Go program: http.FileServer for reads and golang.org/x/net/webdav on a
// directory for writes, without accounts, metadata or syncs. Both servers run as child processes on
// fresh directories and alternate round by round, so that other load on the machine affects both. A
// result is the median of the rounds and is compared as a ratio. CPU time is the server's own
// including its children, as the kernel accounts it, in steps of 10 ms.
//
// bench uses `bin/larder` as built by `make build`, creates keys with the command line, and sends
// HTTP requests with its own load generator. It counts syncs with strace in separate runs. It
// measures on SQLite and on its own PostgreSQL server with fsync enabled. With -write it replaces
// the tables between the markers of docs/performance.md. W10 also takes versitygw and Redis.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// options are the command-line flags.
type options struct {
	binary  string
	engine  string // engines, separated by commas
	only    string // workloads, separated by commas; empty for all
	rounds  int
	reads   int    // requests per round of W1
	uploads int    // requests per round of W4
	large   int64  // bytes of the file of W2 and W3
	profile string // directory for CPU profiles, "" for none
	entries int    // in the large folder of W6 and W9, and again in the tree beside it
}

// The engines.
const (
	onSQLite   = "sqlite"
	onPostgres = "postgres"
)

// engines returns the engines to measure on, in order.
func (o options) engines() []string { return strings.Split(o.engine, ",") }

// wants reports whether one of the workloads, such as W1, is selected by -only.
func (o options) wants(workloads ...string) bool {
	if o.only == "" {
		return true
	}
	for word := range strings.SplitSeq(o.only, ",") {
		if slices.Contains(workloads, strings.ToUpper(strings.TrimSpace(word))) {
			return true
		}
	}
	return false
}

// valid reports whether the engines are known and the numbers are positive.
func (o options) valid() bool {
	for _, engine := range o.engines() {
		if engine != onSQLite && engine != onPostgres {
			return false
		}
	}
	return o.rounds > 0 && o.reads > 0 && o.uploads > 0 && o.large > 0 && o.entries >= 0
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == referenceCommand {
		fatal(serveReference(os.Args[2]))
		return
	}
	var o options
	write, section := false, ""
	flag.StringVar(&o.binary, "binary", "bin/larder", "the server to measure")
	flag.StringVar(&o.engine, "engine", onSQLite+","+onPostgres,
		"databases to measure on; PostgreSQL is started for it")
	flag.StringVar(&o.only, "only", "", "workloads to run, such as W1,W4,peers (default all)")
	flag.IntVar(&o.rounds, "rounds", 3, "interleaved rounds, whose medians count")
	flag.IntVar(&o.reads, "reads", 20000, "requests of a round of W1")
	flag.IntVar(&o.uploads, "uploads", 2000, "uploads of a round of W4")
	flag.Int64Var(&o.large, "large", 1<<30, "bytes of the file of W2 and W3")
	flag.IntVar(&o.entries, "entries", 1_000_000,
		"entries of the large folder of W6 and W9, and of the tree beside it; 0 leaves them out")
	flag.StringVar(&o.profile, "profile", "",
		"directory for CPU profiles of the server, 5 s from the start of each workload of the last round")
	flag.BoolVar(&write, "write", false, "put the tables into docs/performance.md")
	flag.StringVar(&section, "section", "", "the part of docs/performance.md that -write replaces (default one for "+
		"each engine)")
	flag.Parse()
	if flag.NArg() > 0 || !o.valid() {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	parts := map[string]string{section: o.engine} // engines by the part of the document
	if section == "" {
		parts = map[string]string{}
		for _, engine := range o.engines() {
			parts[engine] = engine
		}
	}
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		o.engine = parts[part]
		report, err := measure(ctx, o)
		fatal(err)
		fmt.Print(report)
		if write {
			fatal(insert("docs/performance.md", part, report))
		}
	}
}

// fatal prints err and exits with 1, unless err is nil.
func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// Command bench measures the real server beside a reference and prints the figures
// as a Markdown table.
//
// The reference is the cheapest thing that a Go program can do: http.FileServer for reads,
// golang.org/x/net/webdav on a directory for writes; no accounts, no metadata, no sync. Both run as
// child processes on fresh directories, and take turns round by round, so that what else the
// machine does hits both alike. A figure is the median of the rounds and counts as a ratio. CPU
// time is the server's own, children included, as the kernel accounts for it, in steps of 10 ms.
//
// It takes `bin/larder` as `make build` leaves it, makes its keys with the command line, and speaks
// HTTP through a load generator of its own. Syncs are counted by strace in a run of their own. It
// measures on SQLite and on a PostgreSQL of its own, whose fsync is on. With -write the tables go
// between the markers of docs/performance.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// options are the flags.
type options struct {
	binary  string
	engine  string // engines, separated by commas
	only    string // workloads, separated by commas; empty for all
	rounds  int
	reads   int    // requests of W1 in a round
	uploads int    // requests of W4 in a round
	large   int64  // bytes of W2 and W3
	profile string // directory for CPU profiles, "" for none
	entries int    // of the large folder of W6 and W9, and of the tree beside it
}

// The engines.
const (
	onSQLite   = "sqlite"
	onPostgres = "postgres"
)

func (o options) engines() []string { return strings.Split(o.engine, ",") }

// wants reports whether one of the workloads is asked for.
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
	write := false
	flag.StringVar(&o.binary, "binary", "bin/larder", "the server to measure")
	flag.StringVar(&o.engine, "engine", onSQLite+","+onPostgres,
		"databases to measure on; PostgreSQL is started for it")
	flag.StringVar(&o.only, "only", "", "workloads to run, such as W1,W4 (default all)")
	flag.IntVar(&o.rounds, "rounds", 3, "interleaved rounds, whose medians count")
	flag.IntVar(&o.reads, "reads", 20000, "requests of a round of W1")
	flag.IntVar(&o.uploads, "uploads", 2000, "uploads of a round of W4")
	flag.Int64Var(&o.large, "large", 1<<30, "bytes of the file of W2 and W3")
	flag.IntVar(&o.entries, "entries", 1_000_000,
		"entries of the large folder of W6 and W9, and of the tree beside it; 0 leaves them out")
	flag.StringVar(&o.profile, "profile", "",
		"directory for CPU profiles of the server, 5 s from the start of each workload of the last round")
	flag.BoolVar(&write, "write", false, "put the table into docs/performance.md")
	flag.Parse()
	if flag.NArg() > 0 || !o.valid() {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := measure(ctx, o)
	fatal(err)
	fmt.Print(report)
	if write {
		fatal(insert("docs/performance.md", report))
	}
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

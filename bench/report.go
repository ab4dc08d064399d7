package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// heading returns the text above the tables: the machine, the date and the command.
func heading(o options) string {
	return fmt.Sprintf("Taken on %s, %d cores, %s %s/%s, by\n`%s`;\nmedians over %d interleaved round(s).\n\n",
		time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		command(), o.rounds)
}

// report returns the Markdown tables of one engine.
func (b *bench) report() string {
	var s strings.Builder
	if b.engine == onPostgres {
		s.WriteString(
			"### PostgreSQL\n\nCPU of PostgreSQL's own processes stands behind the server's, after a plus, and does " +
				"not count\ninto the ratio.\n\n")
	} else {
		s.WriteString("### SQLite\n\n")
	}
	s.WriteString(pairTable(b.pairs, "reference"))
	s.WriteString(pairTable(b.replicaPairs, "one process, 8 at once"))
	if len(b.figures) > 0 {
		s.WriteString("| # | figure | value | goal |\n| --- | --- | ---: | :--- |\n")
		for _, f := range b.figures {
			fmt.Fprintf(&s, "| %s | %s | %s | %s |\n", f.id, f.name, f.value, goal(f.goal, f.met))
		}
		s.WriteString("\n")
	}
	return s.String() + b.peersReport()
}

// pairTable returns the table of the pairs, "" for none; other is the heading of the columns about
// what they are compared with.
func pairTable(pairs []*pair, other string) string {
	if len(pairs) == 0 {
		return ""
	}
	text := fmt.Sprintf("| # | workload | CPU a request | %[1]s | ratio | goal | rate | %[1]s | ratio | goal | memory "+
		"grows by |\n| --- | --- | ---: | ---: | ---: | :--- | ---: | ---: | ---: | :--- | ---: |\n", other)
	for _, p := range pairs {
		text += p.line()
	}
	return text + "\n"
}

// command returns the command line of this run.
func command() string { return strings.Join(append([]string{"go run ./bench"}, os.Args[1:]...), " ") }

// goal returns the text of a goal, marked if it was missed.
func goal(text string, met bool) string {
	if !met {
		return text + " (missed)"
	}
	return text
}

// line returns the row of the table for a workload: medians over the rounds, ratios to the
// reference and goals.
func (p *pair) line() string {
	of := func(outcomes []outcome, value func(outcome) float64) float64 {
		var all []float64
		for _, o := range outcomes {
			all = append(all, value(o))
		}
		return median(all)
	}
	cpu := func(o outcome) float64 { return float64(o.cpuPerRequest()) }
	growth := of(p.larder, func(o outcome) float64 { return float64(o.growth) })
	cpuHere, cpuThere := of(p.larder, cpu), of(p.reference, cpu)
	rateHere, rateThere := of(p.larder, outcome.rate), of(p.reference, outcome.rate)
	cpuGoal, rateGoal, grown, database := "", "", megabytes(growth), ""
	if d := of(p.larder, func(o outcome) float64 { return float64(o.database) / float64(o.requests) }); d > 0 {
		database = " + " + cpuText(d)
	}
	if p.cpuGoal > 0 {
		cpuGoal = goal(fmt.Sprintf("≤ %.3g×", p.cpuGoal), cpuHere <= p.cpuGoal*cpuThere)
	}
	if p.rateGoal > 0 {
		rateGoal = goal(fmt.Sprintf("≥ %.2g×", p.rateGoal), rateHere >= p.rateGoal*rateThere)
	}
	if p.growthGoal > 0 {
		grown += ", " + goal("≤ "+megabytes(float64(p.growthGoal)), growth <= float64(p.growthGoal))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", p.id, p.name,
		cpuText(cpuHere)+database, cpuText(cpuThere), ratio(cpuHere, cpuThere), cpuGoal,
		p.rateText(rateHere), p.rateText(rateThere), ratio(rateHere, rateThere), rateGoal, grown)
}

// ratio returns here divided by there as text, "–" when the reference used no measurable CPU time.
func ratio(here, there float64) string {
	if there == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f×", here/there)
}

// cpuText returns a CPU time in seconds or µs.
func cpuText(nanoseconds float64) string {
	if d := time.Duration(nanoseconds); d >= 10*time.Millisecond {
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f µs", nanoseconds/1000)
}

// rateText returns a number of requests per second as text, in MB/s for a workload of large files.
func (p *pair) rateText(requests float64) string {
	if p.bytes > 0 {
		return fmt.Sprintf("%.0f MB/s", requests*float64(p.bytes)/1e6)
	}
	return fmt.Sprintf("%.0f/s", requests)
}

// countLines returns the number of lines of text that end with end.
func countLines(text []byte, end string) int {
	n := 0
	for line := range bytes.Lines(text) {
		if bytes.HasSuffix(bytes.TrimRight(line, "\n"), []byte(end)) {
			n++
		}
	}
	return n
}

// insert writes the report between the markers of a section in a file, in place of the text there.
func insert(file, section, report string) error {
	beginMarker, endMarker := "<!-- "+section+": begin -->", "<!-- "+section+": end -->"
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), beginMarker)
	_, after, closed := strings.Cut(rest, endMarker)
	if !found || !closed {
		return fmt.Errorf("%s has no line %s and, below it, %s", file, beginMarker, endMarker)
	}
	return os.WriteFile(file, []byte(before+beginMarker+"\n"+strings.TrimSpace(report)+"\n"+endMarker+after), 0o644)
}

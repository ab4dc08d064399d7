package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// request is a request of the load generator: a fixed head and a body of a given length.
type request struct {
	method, path string
	headers      []string // complete lines without line ends
	body         int64    // bytes; 0 for none
	text         string   // the content of the body when body is 0
}

// bodyBlock is repeated as the content of bodies.
var bodyBlock = func() []byte {
	b := make([]byte, 1<<20)
	state := uint64(20480)
	for i := range b {
		state = state*6364136223846793005 + 1442695040888963407
		b[i] = byte(state >> 56)
	}
	return b
}()

// head returns the bytes of the request up to the empty line, followed by text. The caller sends
// the other kind of body.
func (r request) head(host string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.method, r.path, host)
	for _, line := range r.headers {
		b.WriteString(line + "\r\n")
	}
	if r.body > 0 {
		b.WriteString("Content-Length: " + strconv.FormatInt(r.body, 10) + "\r\n")
	}
	if r.text != "" {
		b.WriteString("Content-Length: " + strconv.Itoa(len(r.text)) + "\r\n")
	}
	b.WriteString("\r\n" + r.text)
	return []byte(b.String())
}

// connection sends requests one after another over one connection.
type connection struct {
	conn   net.Conn
	reader *bufio.Reader
	host   string
	buffer []byte
}

// connect opens a connection to a server.
func connect(p *server) (*connection, error) {
	conn, err := p.dial()
	if err != nil {
		return nil, err
	}
	return &connection{conn: conn, reader: bufio.NewReaderSize(conn, 64<<10), host: p.address,
		buffer: make([]byte, 1<<20)}, nil
}

func (c *connection) close() { c.conn.Close() }

// do sends r and reads the whole answer. It fails unless the status is 2xx. It returns the length
// of the answer's body in bytes.
func (c *connection) do(r request) (int64, error) {
	head := r.head(c.host)
	if r.body > 0 && r.body <= 64<<10 { // a small request is sent in one packet
		head = append(head, bodyBlock[:r.body]...)
	}
	if _, err := c.conn.Write(head); err != nil {
		return 0, err
	}
	if r.body > 64<<10 {
		for left := r.body; left > 0; {
			n, err := c.conn.Write(bodyBlock[:min(left, int64(len(bodyBlock)))])
			if err != nil {
				return 0, err
			}
			left -= int64(n)
		}
	}
	resp, err := http.ReadResponse(c.reader, &http.Request{Method: r.method})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return 0, fmt.Errorf("%s %s answered %s: %s", r.method, r.path, resp.Status, text)
	}
	return io.CopyBuffer(struct{ io.Writer }{io.Discard}, resp.Body, c.buffer)
}

// outcome is the result of one round of a workload on one server.
type outcome struct {
	requests int
	cpu      time.Duration // of the server, for all requests
	database time.Duration // CPU time of the database server for all requests; 0 for SQLite
	elapsed  time.Duration
	growth   int64 // largest growth of the memory in bytes
}

func (o outcome) cpuPerRequest() time.Duration { return o.cpu / time.Duration(o.requests) }

// rate returns the requests per second.
func (o outcome) rate() float64 { return float64(o.requests) / o.elapsed.Seconds() }

// run sends n requests to a server over keep-alive connections and measures it meanwhile. make
// builds the request with that number, from 0; it is called from several goroutines. An answer that
// is not 2xx is an error.
func run(ctx context.Context, p *server, connections, n int, make func(i int) request) (outcome, error) {
	return runOn(ctx, fleet{p}, connections, n, make)
}

// runOn is run for several servers, which get the requests in turn: workers is the number of
// requests at the same time, and each worker has a connection to every server. CPU time and memory
// are the sums over the servers.
func runOn(ctx context.Context, servers fleet, workers, n int, make func(i int) request) (outcome, error) {
	var open [][]*connection // by worker and server
	defer func() {
		for _, each := range open {
			for _, c := range each {
				c.close()
			}
		}
	}()
	for range workers {
		var each []*connection
		for _, p := range servers {
			c, err := connect(p)
			if err != nil {
				return outcome{}, err
			}
			each = append(each, c)
		}
		open = append(open, each)
	}
	if err := servers.resetPeak(); err != nil {
		return outcome{}, err
	}
	before, err := servers.spent("VmRSS")
	if err != nil {
		return outcome{}, err
	}
	var next atomic.Int64
	faults := errorList{}
	var all sync.WaitGroup
	begin := time.Now()
	for _, each := range open {
		all.Go(func() {
			for ctx.Err() == nil && !faults.any() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if _, err := each[i%len(each)].do(make(i)); err != nil {
					faults.add(err)
				}
			}
		})
	}
	all.Wait()
	elapsed := time.Since(begin)
	after, err := servers.spent("VmHWM")
	if err := errors.Join(ctx.Err(), faults.join(), err); err != nil {
		return outcome{}, err
	}
	return outcome{requests: n, cpu: after.cpu - before.cpu, database: after.database - before.database,
		elapsed: elapsed, growth: max(0, after.memory-before.memory)}, nil
}

// fleet is one server or more, which share the database.
type fleet []*server

// resetPeak resets VmHWM of each server.
func (f fleet) resetPeak() error {
	var errs []error
	for _, p := range f {
		errs = append(errs, p.resetPeak())
	}
	return errors.Join(errs...)
}

// spending is what servers have used so far.
type spending struct {
	cpu, database time.Duration // of the servers, and of the database; 0 for SQLite
	memory        int64         // bytes
}

// spent returns the sums over the servers; field is that of the memory in /proc/PID/status.
func (f fleet) spent(field string) (all spending, err error) {
	if d := f[0].database; d != nil {
		if all.database, err = d.cpu(); err != nil {
			return all, err
		}
	}
	for _, p := range f {
		cpu, err := p.cpu()
		memory, err2 := p.memory(field)
		if err := errors.Join(err, err2); err != nil {
			return all, err
		}
		all.cpu, all.memory = all.cpu+cpu, all.memory+memory
	}
	return all, nil
}

// stop ends the servers.
func (f fleet) stop() {
	for _, p := range f {
		p.stop()
	}
}

// errorList collects the first errors of several goroutines.
type errorList struct {
	mu   sync.Mutex // guards errs
	errs []error
}

// add keeps an error, up to three.
func (l *errorList) add(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.errs) < 3 {
		l.errs = append(l.errs, err)
	}
}

// any reports whether there is an error.
func (l *errorList) any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.errs) > 0
}

// join returns the errors as one, nil for none.
func (l *errorList) join() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.errs...)
}

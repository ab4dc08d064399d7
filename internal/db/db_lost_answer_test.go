package db_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"larder/internal/db"
	"larder/internal/db/dbtest"
)

// commitBreaker is a proxy between a client and PostgreSQL. While armed it closes the connection on
// which the next COMMIT arrives: after the server has answered, or before the server receives it.
type commitBreaker struct {
	server        *pgconn.Config
	armed         atomic.Bool
	deliverCommit bool
}

func (c *commitBreaker) listen(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go c.serve(client)
		}
	}()
	return l.Addr().String()
}

func (c *commitBreaker) serve(client net.Conn) {
	defer client.Close()
	network, address := pgconn.NetworkAddress(c.server.Host, c.server.Port)
	server, err := net.Dial(network, address)
	if err != nil {
		return
	}
	defer server.Close()
	var cut atomic.Bool
	go func() {
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil || cut.Load() {
				return
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if bytes.Contains(bytes.ToLower(buf[:n]), []byte("commit\x00")) && c.armed.CompareAndSwap(true, false) {
			cut.Store(true)
			if !c.deliverCommit {
				return
			}
			_, _ = server.Write(buf[:n])
			_, _ = io.Copy(io.Discard, client) // until the other direction has read the answer and closed
			return
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// Abuse case C125: if the answer to a COMMIT is lost, the result is unknown. Write fails and never
// runs the function again.
func TestCommitWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, delivers := range map[string]bool{"committed": true, "not committed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := dbtest.Config(t, "postgres")
			server, err := pgconn.ParseConfig(cfg.URL)
			if err != nil {
				t.Fatal(err)
			}
			c := &commitBreaker{server: server, deliverCommit: delivers}
			u := url.URL{Scheme: "postgres", User: url.UserPassword(server.User, server.Password), Host: c.listen(t),
				Path: "/" + server.Database, RawQuery: "sslmode=disable"}
			cfg.URL = u.String()
			d, err := db.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if err := d.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			runs, hooked := 0, false
			c.armed.Store(true)
			err = d.Write(t.Context(), func(tx *db.Tx) error {
				runs++
				tx.AfterCommit(func() { hooked = true })
				return insertSetting(tx, "run"+strconv.Itoa(runs), "x")
			})
			if err == nil || runs != 1 || hooked {
				t.Errorf("returned %v after %d runs, hook %v", err, runs, hooked)
			}
			if stored := setting(t, d.Read(t.Context()), "run1") == "x"; stored != delivers {
				t.Errorf("stored %v", stored)
			}
			if err := d.Write(t.Context(), func(tx *db.Tx) error {
				return insertSetting(tx, "after", strings.Repeat("x", 3))
			}); err != nil {
				t.Errorf("the next write: %v", err)
			}
		})
	}
}

package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func slowClientServer(t *testing.T, grace time.Duration, rate int64, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(slowClientHandler{next: handle, grace: grace, rate: rate})
	t.Cleanup(server.Close)
	return server
}

func dial(t *testing.T, server *httptest.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Abuse case C105: a body without progress ends the connection, whether or not a handler reads it.
func TestIdleBodyIsCut(t *testing.T) {
	t.Parallel()
	read := make(chan error, 1)
	reading := slowClientServer(t, 50*time.Millisecond, 1, func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		read <- err
	})
	conn := dial(t, reading)
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc")
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the body ends with %v", err)
	}
	for name, server := range map[string]*httptest.Server{"read": reading,
		"not read": slowClientServer(t, 50*time.Millisecond, 1, func(http.ResponseWriter, *http.Request) {})} {
		conn := dial(t, server)
		fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc")
		if _, err := io.ReadAll(conn); err != nil { // until the server closes the connection
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The answer to a refused body does not wait for the rest of it, however long its announced length.
func TestARefusedBodyIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	server := slowClientServer(t, time.Minute, 1,
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) })
	conn := dial(t, server)
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
	got := make([]byte, len("HTTP/1.1 413"))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "HTTP/1.1 413" {
		t.Errorf("%q, %v", got, err)
	}
}

// A byte now and then is not enough: the average speed counts.
func TestSlowBodyIsCut(t *testing.T) {
	t.Parallel()
	read := make(chan error, 1)
	server := slowClientServer(t, 100*time.Millisecond, 1<<20, func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		read <- err
	})
	conn := dial(t, server)
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
	beat := time.NewTicker(10 * time.Millisecond)
	defer beat.Stop()
	for {
		select {
		case err := <-read:
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the body ends with %v", err)
			}
			return
		case <-beat.C:
			_, _ = conn.Write([]byte("a"))
		}
	}
}

// The time that the server takes itself does not count for the client, neither before a body is
// read nor after.
func TestTimeOfTheServerIsNotCountedInABody(t *testing.T) {
	t.Parallel()
	const grace, pause = time.Second, 1100 * time.Millisecond // a busy machine delays the reads themselves
	server := slowClientServer(t, grace, 1<<20, func(w http.ResponseWriter, r *http.Request) {
		<-time.After(pause)
		text, err := io.ReadAll(r.Body)
		<-time.After(pause)
		if err == nil {
			err = r.Context().Err()
		}
		fmt.Fprintf(w, "%s %v", text, err)
	})
	for range 2 { // on one connection
		reply, err := server.Client().Post(server.URL, "text/plain", strings.NewReader("words"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if string(text) != "words <nil>" || err != nil {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// A client that requests a file and does not read it is cut off. A client that reads gets the whole
// file.
func TestReplies(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("0123456789abcdef"), 2<<20)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{}, 2)
	handle := func(w http.ResponseWriter, r *http.Request) {
		defer func() { served <- struct{}{} }()
		if r.URL.Path == "/memory" {
			_, _ = w.Write(content)
			return
		}
		http.ServeFile(w, r, path)
	}
	patient := slowClientServer(t, time.Minute, 1, handle)
	for _, name := range []string{"/memory", "/other"} {
		reply, err := patient.Client().Get(patient.URL + name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if !bytes.Equal(got, content) || err != nil {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		<-served
	}
	hasty := slowClientServer(t, 50*time.Millisecond, 1, handle)
	for _, name := range []string{"/memory", "/other"} {
		conn := dial(t, hasty)
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", name)
		<-served // returns only when the server gives up, since the client does not read
	}
}

// A response with long pauses of the server in it reaches a client that reads. Flushing does not
// change that.
func TestTimeOfTheServerIsNotCountedInAReply(t *testing.T) {
	t.Parallel()
	const grace, pause = time.Second, 1100 * time.Millisecond // a busy machine delays the writes themselves
	server := slowClientServer(t, grace, 1<<20, func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			fmt.Fprint(w, "words ") // stays in the server's buffer
			<-time.After(pause)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			<-time.After(pause)
		}
	})
	reply, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if text, err := io.ReadAll(reply.Body); string(text) != "words words words " || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// Reading a little now and then is not enough, however small the pieces of a response are.
func TestSlowReaderIsCut(t *testing.T) {
	t.Parallel()
	const little = 64 << 10
	served := make(chan error, 1)
	server := httptest.NewUnstartedServer(slowClientHandler{grace: 500 * time.Millisecond, rate: 1,
		next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			piece, err := make([]byte, little/2), error(nil)
			for range 100 { // this client takes seconds; each piece waits for a fraction of the grace
				if _, err = w.Write(piece); err != nil {
					break
				}
			}
			served <- err
		})})
	server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		// writing into the system's buffer takes none of the client's time
		if err := conn.(*net.TCPConn).SetWriteBuffer(little); err != nil {
			t.Error(err)
		}
		return ctx
	}
	server.Start()
	t.Cleanup(server.Close)
	conn := dial(t, server)
	if err := conn.(*net.TCPConn).SetReadBuffer(little); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	beat := time.NewTicker(100 * time.Millisecond)
	defer beat.Stop()
	taken := make([]byte, little/2)
	for {
		select {
		case err := <-served:
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the answer ends with %v", err)
			}
			return
		case <-beat.C:
			_, _ = io.ReadFull(conn, taken)
		}
	}
}

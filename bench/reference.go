package main

import (
	"fmt"
	"net"
	"net/http"

	"golang.org/x/net/webdav"
)

// referenceCommand is the first argument that makes this program the reference server; the
// second is its directory.
const referenceCommand = "reference-server"

// serveReference serves reads from dir with http.FileServer and writes with webdav.Handler until
// the process is killed. It prints its address in the same form as the server.
func serveReference(dir string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	read := http.FileServer(http.Dir(dir))
	write := &webdav.Handler{FileSystem: webdav.Dir(dir), LockSystem: webdav.NewMemLS()}
	fmt.Printf("Reference serves http://%s\n", listener.Addr())
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			read.ServeHTTP(w, r)
		} else {
			write.ServeHTTP(w, r)
		}
	}))
}

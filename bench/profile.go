package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// freeAddress returns an address of this machine at which nothing listens at present.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// profiled starts a CPU profile of the server while the workload p runs, if a directory for
// profiles is set. It overwrites the profile of the previous round. The returned function waits for
// the profile and returns its error.
func (b *bench) profiled(ctx context.Context, p pair) (wait func() error) {
	if b.profile == "" {
		return func() error { return nil }
	}
	name := strings.NewReplacer(" ", "-", ",", "").Replace(fmt.Sprintf("%s-%s-%s.pprof", b.engine, p.id, p.name))
	done := make(chan error, 1)
	go func() {
		done <- fetch(ctx, "http://"+b.site.ops+"/debug/pprof/profile?seconds=5", filepath.Join(b.profile, name))
	}()
	return func() error { return <-done }
}

// fetch writes the answer of an address into a file.
func fetch(ctx context.Context, address, file string) error {
	req, err := http.NewRequestWithContext(ctx, "GET", address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", address, resp.Status)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, resp.Body); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// bucket is an S3 server (versitygw) with one bucket on the measured disk.
type bucket struct {
	cmd              *exec.Cmd
	address          string // host:port
	access, password string
}

const bucketName = "bench"

// startBucket runs an S3 server with one empty bucket in dir: the one that
// scripts/install-test-tools has installed, or the one in PATH. The caller stops it.
func startBucket(ctx context.Context, dir string) (*bucket, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	program := filepath.Join(cache, "larder-tools", "bin", "versitygw")
	if _, err := os.Stat(program); err != nil {
		if program, err = exec.LookPath("versitygw"); err != nil {
			return nil, errors.New("no versitygw here; scripts/install-test-tools installs it")
		}
	}
	// this server treats a directory as a bucket
	if err := os.MkdirAll(filepath.Join(dir, bucketName), 0o700); err != nil {
		return nil, err
	}
	s := &bucket{access: "bench", password: hex.EncodeToString(bodyBlock[:16])}
	if s.address, err = freeAddress(); err != nil {
		return nil, err
	}
	s.cmd = exec.CommandContext(ctx, program, "--port", s.address, "--quiet", "--keep-alive", "posix", dir)
	s.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s.access, "ROOT_SECRET_KEY="+s.password)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) &&
		ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", s.address); err == nil {
			return s, conn.Close()
		}
	}
	s.stop()
	return nil, errors.New("versitygw does not start")
}

// stop kills the server.
func (b *bucket) stop() {
	_ = b.cmd.Process.Kill() // fails when it has ended
	_ = b.cmd.Wait()         // returns the error of the signal
}

// addTo creates a provider for the bucket, with the administrator's caller, and returns its id.
// prefix is the part of the bucket that it uses, "" for all of it.
func (b *bucket) addTo(ctx context.Context, c *caller, prefix string) (id string, err error) {
	var made struct{ Provider struct{ ID string } }
	provider := map[string]string{
		"name": "bench", "type": "store_b", "endpoint": "http://" + b.address, "bucket": bucketName,
		"accessKeyId": b.access, "secretAccessKey": b.password, "pathPrefix": prefix,
	}
	err = c.call(ctx, http.MethodPost, "/api/admin/storage/providers", provider, &made)
	return made.Provider.ID, err
}

// bucketFile is the file that W2 reads from the bucket.
const bucketFile = "/uploads/cloud/large.bin"

// setUpBucket starts an S3 server, mounts its bucket below the upload root of keys and uploads the
// large file into it, for W2 to read.
func (b *bench) setUpBucket(ctx context.Context) (err error) {
	if b.bucket, err = startBucket(ctx, filepath.Join(b.dir, "bucket")); err != nil {
		return err
	}
	c, _, err := b.site.login(ctx, b.larder)
	if err != nil {
		return err
	}
	provider, err := b.bucket.addTo(ctx, c, "")
	if err != nil {
		return err
	}
	mount := map[string]string{"providerId": provider, "mountPath": filepath.Dir(bucketFile), "name": "cloud"}
	if err := c.call(ctx, http.MethodPost, "/api/admin/mounts", mount, nil); err != nil {
		return err
	}
	upload := request{method: "POST", path: "/api/upload", body: b.large, headers: []string{
		"Authorization: Bearer " + b.token, "X-File-Name: " + filepath.Base(bucketFile),
		"X-Path: " + filepath.Dir(bucketFile), "Content-Type: application/x-large",
	}}
	if _, err := run(ctx, b.larder, 1, 1, same(upload)); err != nil {
		return fmt.Errorf("upload to the bucket: %w", err)
	}
	return nil
}

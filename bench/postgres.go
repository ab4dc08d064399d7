package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
)

// cluster is a PostgreSQL server for the benchmark, with default settings except for its address.
// fsync is enabled.
type cluster struct {
	programs string // directory
	dir      string
	owner    *syscall.Credential // nil for the current user
	server   *exec.Cmd
	log      bytes.Buffer
}

// startCluster creates a cluster on the measured disk and starts it.
func startCluster(ctx context.Context) (c *cluster, err error) {
	c = &cluster{}
	if c.programs, err = postgresPrograms(); err != nil {
		return nil, err
	}
	// short: the path of a socket is limited to 107 bytes
	if c.dir, err = os.MkdirTemp("", "larder-bench-pg-"); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		if err := c.chownToUnprivileged(); err != nil {
			return nil, err
		}
	}
	initdb := c.command(ctx, filepath.Join(c.programs, "initdb"), "--pgdata", c.data(), "--locale=C", "--encoding=UTF8",
		"--auth=trust", "--username=postgres")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, tail(string(out)))
	}
	return c, c.start(ctx)
}

// postgresPrograms returns the directory of the newest PostgreSQL server that is installed.
func postgresPrograms() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is well formed
	if len(found) > 0 {
		return filepath.Dir(slices.Max(found)), nil
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("no PostgreSQL here: install it, or measure with -engine sqlite")
	}
	return filepath.Dir(initdb), nil
}

// chownToUnprivileged gives the directory to an account other than root, under which the server
// then runs.
func (c *cluster) chownToUnprivileged() error {
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(account.Gid)
	if err != nil {
		return err
	}
	c.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(c.dir, uid, gid)
}

// data returns the directory of the databases.
func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

// command returns a command that runs in the directory of the cluster as its owner.
func (c *cluster) command(ctx context.Context, words ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner}
	return cmd
}

// start runs the server and waits until it answers. wrapper is the beginning of the command line,
// such as that of strace.
func (c *cluster) start(ctx context.Context, wrapper ...string) error {
	c.server = c.command(ctx, append(slices.Clone(wrapper), filepath.Join(c.programs, "postgres"), "-D", c.data(), "-c",
		"listen_addresses=", "-c", "unix_socket_directories="+c.dir)...)
	c.server.Stderr = &c.log
	if err := c.server.Start(); err != nil {
		return err
	}
	db, err := sql.Open("pgx", c.url("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) &&
		ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if db.PingContext(ctx) == nil {
			return nil
		}
	}
	return fmt.Errorf("PostgreSQL does not answer: %s", tail(c.log.String()))
}

// stop ends the server with a fast shutdown.
func (c *cluster) stop() {
	c.server.Process.Signal(syscall.SIGINT) // fails when it has ended
	c.server.Wait()
}

// remove ends the server and deletes its directory.
func (c *cluster) remove() {
	c.stop()
	os.RemoveAll(c.dir)
}

// url returns the address of a database on the server.
func (c *cluster) url(database string) string {
	return fmt.Sprintf("postgres:///%s?host=%s&user=postgres", database, c.dir)
}

// create creates a database and returns its address.
func (c *cluster) create(ctx context.Context, database string) (string, error) {
	db, err := sql.Open("pgx", c.url("postgres"))
	if err != nil {
		return "", err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+database); err != nil {
		return "", fmt.Errorf("create database %s: %w", database, err)
	}
	return c.url(database), nil
}

// cpu returns the CPU time of all PostgreSQL processes, including those that have ended.
func (c *cluster) cpu() (time.Duration, error) {
	total, err := cpuOf(c.server.Process.Pid)
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", c.server.Process.Pid, c.server.Process.Pid))
	if err != nil {
		return 0, err
	}
	for word := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			return 0, err
		}
		if own, err := cpuOf(pid); err == nil { // an ended process is counted by its parent
			total += own
		}
	}
	return total, nil
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	folderFiles = 10_000 // in a folder of W6
	folderCount = 4      // folders that a round deletes
)

// folders runs a round of the part of W6 that has a reference: it moves folders of 10,000 files
// there and back, and deletes them, on both servers.
func (b *bench) folders(ctx context.Context, _ addresses) error {
	if !b.wants("W6") {
		return nil
	}
	b.serial++
	c, cookie, err := b.site.login(ctx, b.larder)
	if err != nil {
		return err
	}
	ids, err := b.fillFolders(ctx, fmt.Sprintf("d%d", b.serial), folderCount)
	if err != nil {
		return err
	}
	headers := []string{cookie, "X-CSRF-Token: " + c.header.Get("X-CSRF-Token")}
	var moves []float64
	wait, err := b.longestUpload(ctx, b.larder, b.token, func() error {
		for _, id := range ids {
			for _, target := range []string{"/uploads", "/public"} {
				begin := time.Now()
				if err := c.call(ctx, "POST", "/api/files/"+id+"/move", map[string]string{"targetPath": target},
					nil); err != nil {
					return err
				}
				moves = append(moves, inMilliseconds(time.Since(begin)))
			}
		}
		reference := func(i int) request {
			return request{method: "DELETE", path: fmt.Sprintf("/d%d-%d", b.serial, i)}
		}
		larder := func(i int) request {
			return request{method: "DELETE", path: "/api/files/" + ids[i], headers: headers}
		}
		p := pair{id: "W6", name: "DELETE of a folder of 10,000", cpuGoal: 0.7, rateGoal: 1 / 0.7}
		return b.runPair(ctx, p, 1, folderCount, reference, larder)
	})
	if err != nil {
		return err
	}
	b.moves, b.waits = append(b.moves, median(moves)), append(b.waits, wait)
	return nil
}

// folderFigures records the values of all rounds of W6 that have no reference.
func (b *bench) folderFigures() {
	if len(b.moves) == 0 {
		return
	}
	b.recordLimit("W6", "MOVE of a folder of 10,000", median(b.moves), 10, milliseconds)
	b.recordLimit("W6", "longest wait of an upload beside that and the DELETE", median(b.waits), 100, milliseconds)
}

// fillFolders creates count folders of folderFiles files, named prefix and a number, on both
// servers, and returns the ids on the measured one.
func (b *bench) fillFolders(ctx context.Context, prefix string, count int) (ids []string, err error) {
	d, err := b.site.seeder(ctx)
	if err != nil {
		return nil, err
	}
	defer d.close()
	d.next = b.serial * 1_000_000
	var public string
	if err := d.queryOne(&public, "SELECT id FROM entries WHERE name = 'public' AND kind = 0"); err != nil {
		return nil, err
	}
	for i := range count {
		name := fmt.Sprintf("%s-%d", prefix, i)
		id, err := d.folder(public, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
		dir := filepath.Join(b.dir, "reference", name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		for n := range folderFiles {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jpg", n)), bodyBlock[:1000], 0o600); err != nil {
				return nil, err
			}
		}
	}
	return ids, d.fill(ids, folderFiles)
}

// longestUpload calls fn while a second client, with the API key token, uploads small files one
// after another to p, and returns the longest time until an answer in ms.
func (b *bench) longestUpload(ctx context.Context, p *server, token string,
	fn func() error) (longest float64, err error) {
	c, err := connect(p)
	if err != nil {
		return 0, err
	}
	defer c.close()
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			begin := time.Now()
			_, err := c.do(request{method: "POST", path: "/api/upload", body: 1000, headers: []string{
				"Authorization: Bearer " + token, "X-File-Name: w.bin", "X-Path: " + strings.Repeat("w", 1+b.serial),
				"Content-Type: application/x-small",
			}})
			longest = max(longest, inMilliseconds(time.Since(begin)))
			if err != nil {
				done <- err
				return
			}
			select {
			case <-stop:
				done <- nil
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	err = fn()
	close(stop)
	if failed := <-done; err == nil {
		err = failed
	}
	return longest, err
}

// inMilliseconds returns a duration in ms, to the microsecond.
func inMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

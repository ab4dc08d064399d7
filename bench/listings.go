package main

import (
	"context"
	"fmt"
	"time"
)

// propfinds is the number of listings in a round of W5.
const propfinds = 10

// rclonePropfind is the PROPFIND body that rclone sends.
const rclonePropfind = `<?xml version="1.0" encoding="utf-8"?>
<d:propfind xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns" xmlns:nc="http://nextcloud.org/ns">
 <d:prop>
  <d:displayname />
  <d:getlastmodified />
  <d:getcontentlength />
  <d:resourcetype />
  <d:getcontenttype />
  <oc:checksums />
  <oc:permissions />
 </d:prop>
</d:propfind>`

// listings runs a round of W5: PROPFIND of a folder of 10,000 files on both servers, with the
// properties that rclone asks for and with all.
func (b *bench) listings(ctx context.Context, _ addresses) error {
	if !b.wants("W5") {
		return nil
	}
	if len(b.firstBytes) == 0 {
		if _, err := b.fillFolders(ctx, "listed", 1); err != nil {
			return err
		}
	}
	for _, each := range []struct{ name, body string }{{"as rclone asks", rclonePropfind}, {"all properties", ""}} {
		there := request{method: "PROPFIND", path: "/listed-0/", text: each.body, headers: []string{"Depth: 1"}}
		here := request{method: "PROPFIND", path: "/webdav/public/listed-0/", text: each.body,
			headers: []string{"Depth: 1", b.davHeader}}
		p := pair{id: "W5", name: "PROPFIND of 10,000 files, " + each.name, cpuGoal: 0.25, rateGoal: 4,
			growthGoal: 8 << 20}
		if err := b.runPair(ctx, p, 1, propfinds, same(there), same(here)); err != nil {
			return err
		}
		for range propfinds {
			first, err := firstByte(b.larder, here)
			if err != nil {
				return err
			}
			b.firstBytes = append(b.firstBytes, first)
		}
	}
	return nil
}

// listingFigures records the values of all rounds of W5 that have no reference.
func (b *bench) listingFigures() {
	if len(b.firstBytes) > 0 {
		b.recordLimit("W5", "first byte of a PROPFIND of 10,000 files", median(b.firstBytes), 10, milliseconds)
	}
}

// firstByte sends a PROPFIND over a new connection and returns the time until its answer begins in
// ms.
func firstByte(p *server, r request) (float64, error) {
	c, err := connect(p)
	if err != nil {
		return 0, err
	}
	defer c.close()
	begin := time.Now()
	if _, err := c.conn.Write(r.head(c.host)); err != nil {
		return 0, err
	}
	status, err := c.reader.Peek(len("HTTP/1.1 207"))
	if err != nil {
		return 0, err
	}
	if string(status) != "HTTP/1.1 207" {
		return 0, fmt.Errorf("PROPFIND answered %s", status)
	}
	return inMilliseconds(time.Since(begin)), nil
}

package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/concurrency"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/zipstream"
)

// maxZipIDs is the largest number of ids in a request for a zip.
const maxZipIDs = 100

type zipInput struct {
	IDs []string `query:"ids" json:"-" required:"true" description:"Ids of 1 to 100 files and folders, separated by commas or in repeated parameters. Entries that the caller may not download are left out."`
}

// zipFiles handles GET /api/files/zip: it streams a zip of the named files and folders, without
// those that the caller may not download.
func (a *API) zipFiles(c *call) error {
	if err := c.requirePermission("read"); err != nil {
		return err
	}
	ids, err := idsOf(c.r.URL.RawQuery)
	if err != nil {
		return err
	}
	beforeBody := func() error {
		c.auditZip(ids)
		return nil
	}
	return c.serveZip(files.ArchiveQuery{IDs: ids, ActorAt: c.actorAt}, accountSource(c.user.ID), beforeBody)
}

// idsOf returns the ids in the parameter ids of a query string: separated by commas or repeated, 1
// to maxZipIDs, each once. Fault: Invalid.
func idsOf(rawQuery string) ([]string, error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, fault.New(fault.Invalid, "The query string is malformed.")
	}
	return splitIDs("ids", query["ids"])
}

// splitIDs splits the values of the parameter called name at their commas and returns 1 to
// maxZipIDs ids. A repeated id counts once. Fault: Invalid, with the parameter as the field.
func splitIDs(name string, values []string) ([]string, error) {
	var ids []string
	seen := map[string]bool{}
	for _, value := range values {
		for id := range strings.SplitSeq(value, ",") {
			if !utf8.ValidString(id) || strings.Contains(id, "\x00") {
				return nil, fault.InvalidField(name, "%s must be valid UTF-8 without NUL.", name)
			}
			if id != "" && !seen[id] {
				ids = append(ids, id)
				seen[id] = true
			}
		}
	}
	if len(ids) < 1 || len(ids) > maxZipIDs {
		return nil, fault.InvalidField(name, "%s must name 1 to %d files and folders.", name, maxZipIDs)
	}
	return ids, nil
}

// actorAt returns the caller with the rights that the account and the key have at a config version.
// A zip takes time, and each file in it is checked with the rights at that moment. The end of a
// session does not stop a zip, like any other download. Faults: InvalidToken when the account or
// key is not active any more, and those of apikey.Key.Allows.
func (c *call) actorAt(ctx context.Context, version int64) (access.Actor, error) {
	if version == c.version {
		return c.actor, nil
	}
	user, err := c.a.Accounts.Cached(ctx, version, c.user.ID)
	switch {
	case fault.Is(err, fault.NotFound), err == nil && user.Status != account.Active:
		return access.Actor{}, fault.New(fault.InvalidToken, "The account is not active any more.")
	case err != nil:
		return access.Actor{}, err
	}
	actor := c.actor
	actor.Role, actor.HomeID = user.Role, user.HomeID
	if c.key == nil {
		return actor, nil
	}
	key, err := c.a.Keys.ByID(ctx, version, c.key.ID)
	if err == nil && (key.UserID != user.ID || key.Status(c.a.Now()) != "active") {
		err = fault.New(fault.InvalidToken, "The API key is not valid any more.")
	}
	if err == nil {
		err = key.Allows("api", c.ip)
	}
	actor.Key = key.Scope()
	return actor, err
}

// maxZipsPerSource is the number of concurrent zips for one account, or for one address without an
// account. maxZips is the number in this process. Addresses are cheap to obtain, so all callers
// without an account share maxVisitorZips, and room remains for accounts.
const (
	maxZipsPerSource = 2
	maxZips          = 32
	maxVisitorZips   = maxZips / 2
	zipRetry         = 10 * time.Second // Retry-After: the end of a zip is not known
)

// addressSource is the prefix of the source's name for callers without an account.
const addressSource = "ip:"

// accountSource returns the name under which the zips of an account are counted.
func accountSource(userID string) string { return "user:" + userID }

// acquireZip takes a slot among the zips that are sent at a time, for source: an account
// (accountSource) or an address (addressSource and the address). The caller keeps the slot until it
// calls release. Fault: RateLimited when source, all visitors or all callers have no slot left.
func acquireZip(zips *concurrency.Limit, source string) (release func(), err error) {
	sources := []concurrency.Source{{Name: source, Max: maxZipsPerSource}}
	if strings.HasPrefix(source, addressSource) {
		sources = append(sources, concurrency.Source{Name: "visitors", Max: maxVisitorZips})
	}
	release, err = zips.TryAcquire(sources...)
	var full *concurrency.LimitError
	if !errors.As(err, &full) {
		return release, err
	}
	message := "Too many zips are being sent. Please wait a moment."
	if full.Source == source {
		message = fmt.Sprintf("At most %d zips are sent to one account or address at a time.", maxZipsPerSource)
	}
	return nil, &fault.Error{Kind: fault.RateLimited, Message: message, RetryAfter: zipRetry}
}

// serveZip sends all zips of the service: the archive of the entries in q. source is the account or
// address that the zip is counted for. beforeBody is called once, after the first file is open and
// immediately before the body is sent; it uses up a token or notes the download. HEAD evaluates the
// query only, without opening a file. A failure in the middle breaks the connection off by a panic
// with http.ErrAbortHandler. Faults: RateLimited, Forbidden, those of files.Tree.Archive, and the
// error of beforeBody.
func (c *call) serveZip(q files.ArchiveQuery, source string, beforeBody func() error) error {
	if requestsActiveContent(c.r) {
		return fault.New(fault.Forbidden, "Stored files cannot be loaded as scripts, styles or workers of this site.")
	}
	head := c.r.Method == http.MethodHead
	if !head {
		release, err := acquireZip(c.a.zipLimit, source)
		if err != nil {
			return err
		}
		defer release()
	}
	archive, err := c.a.Tree.Archive(c.ctx(), q)
	if err != nil {
		return err
	}
	z := &zipResponse{call: c, archive: archive}
	defer z.close()
	if !head {
		if err := z.openFirst(); err != nil {
			return err
		}
		if err := beforeBody(); err != nil {
			return err
		}
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", sandboxPolicy)
	h.Set("Content-Disposition", disposition(false, zipName(archive.Title())))
	h.Set("Cache-Control", "private, no-store")
	h.Set("Accept-Ranges", "none")
	h.Set("Vary", "Sec-Fetch-Dest, Sec-Fetch-Site")
	c.w.WriteHeader(http.StatusOK)
	if head {
		return nil
	}
	if err := z.send(); err != nil {
		if c.ctx().Err() == nil && !z.clientGone {
			c.a.Log.Error("a zip was interrupted", "method", c.r.Method, "path", loggedPath(c.r), "request_id", c.requestID,
				"error", err)
		}
		panic(http.ErrAbortHandler) // the client must not take the partial zip for a complete one
	}
	return nil
}

// zipName returns the file name of a zip by the title of its archive, which is "" for several
// entries.
func zipName(title string) string {
	if title == "" {
		title = "files"
	}
	return title + ".zip"
}

// zipResponse is a zip that is being sent to a client.
type zipResponse struct {
	*call
	archive    *files.Archive
	readAhead  []files.ArchiveEntry // entries read before the body; only the last may be a file
	exhausted  bool                 // readAhead holds all remaining entries
	writer     *zipstream.Writer
	clientGone bool // a write to the client failed
	flushed    time.Time
}

// maxReadAhead is the largest number of entries that are read in search of the first file.
const maxReadAhead = 100

// openFirst reads entries up to the first file, at most maxReadAhead, and opens that file, so that
// an unavailable store causes an error status. The entries wait in readAhead.
func (z *zipResponse) openFirst() error {
	for len(z.readAhead) < maxReadAhead {
		e, found, err := z.archive.Next(z.ctx())
		if err != nil || !found {
			z.exhausted = true
			return err
		}
		z.readAhead = append(z.readAhead, e)
		if e.Body != nil {
			return nil
		}
	}
	return nil
}

// close closes the file that was read ahead and the zip writer with its spool file.
func (z *zipResponse) close() {
	for _, e := range z.readAhead {
		if e.Body != nil {
			_ = e.Body.Close() // opened for reading: the error doesn't matter
		}
	}
	if z.writer != nil {
		z.writer.Close()
	}
}

// Write implements io.Writer for the zip writer. It remembers that the client has disconnected.
func (z *zipResponse) Write(p []byte) (int, error) {
	n, err := z.w.Write(p)
	z.clientGone = z.clientGone || err != nil
	return n, err
}

// send sends the whole archive. The client must not take it for complete if send fails.
func (z *zipResponse) send() error {
	z.writer = zipstream.New(z, z.spoolFile)
	for {
		e, found, err := z.next()
		if err != nil {
			return err
		}
		if !found {
			return z.writer.Finish()
		}
		if err := z.addEntry(e); err != nil {
			return err
		}
		if err := z.flush(); err != nil {
			return err
		}
	}
}

// next returns the next entry of the archive, those that were read ahead first; found is false at
// the end.
func (z *zipResponse) next() (e files.ArchiveEntry, found bool, err error) {
	if len(z.readAhead) > 0 {
		e, z.readAhead = z.readAhead[0], z.readAhead[1:]
		return e, true, nil
	}
	if z.exhausted {
		return files.ArchiveEntry{}, false, nil
	}
	return z.archive.Next(z.ctx())
}

// addEntry sends one file, whose body it closes, or one folder.
func (z *zipResponse) addEntry(e files.ArchiveEntry) error {
	if e.Body == nil {
		return z.writer.Folder(e.Name, e.Modified)
	}
	out, err := z.writer.File(e.Name, e.Modified)
	if err == nil {
		_, err = io.Copy(out, e.Body)
	}
	return errors.Join(err, e.Body.Close())
}

// flush sends the buffered bytes to the client, at most once a second. Without that bound each
// small file would be a packet.
func (z *zipResponse) flush() error {
	now := z.a.Now()
	if now.Sub(z.flushed) < time.Second {
		return nil
	}
	z.flushed = now
	err := z.writer.Flush()
	if err == nil {
		err = http.NewResponseController(z.w).Flush()
		z.clientGone = z.clientGone || err != nil
	}
	return err
}

// spoolFile opens the unnamed temporary file in which the directory of the zip waits until the
// files are sent. Fault: Unavailable when the disk is nearly full.
func (z *zipResponse) spoolFile() (*os.File, error) {
	if err := z.a.CheckSpoolSpace(); err != nil {
		return nil, err
	}
	return z.a.OpenSpoolFile()
}

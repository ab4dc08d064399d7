package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"larder/internal/blob"
	"larder/internal/fault"
	"larder/internal/files"
)

// serveOptions controls how content is served.
type serveOptions struct {
	public bool // any cache may store it; otherwise private, no-store
	// the client may cache it, and must revalidate it each time: the answer depends on the content
	// and on the client's rights
	revalidate bool
	immutable  bool // any cache may store it for ever: other content has another address
	attachment bool // as an attachment for every type
	// called once, after the object is open and immediately before the body is sent; it uses up a
	// download token
	beforeBody func() error
}

// maxRanges is the largest number of ranges of a file in one reply. A request for more gets the
// whole file (RFC 9110, sections 14.2 and 17.15), since each range costs a seek, a read and a
// header, however short it is.
const maxRanges = 32

// servedContent is content to serve, from any source.
type servedContent struct {
	name, mimeType, etag string
	size                 int64
	modified             time.Time
	contentSource
}

// contentSource is the source of the bytes. Its faults are those of files.Content.
type contentSource interface {
	// Check returns an error unless the bytes exist.
	Check(ctx context.Context) error
	// RedirectAddress returns the address to which the client is redirected for the bytes, "" for
	// none.
	RedirectAddress(ctx context.Context, terms files.RedirectTerms) (string, error)
	// OpenRange opens the content at offset first, for reading length bytes.
	OpenRange(ctx context.Context, first, length int64) (blob.Object, error)
}

// serveContent serves the content of a file of the tree, or of one of its versions, with its name,
// type and ETag; see serveBytes. Faults: those of serveBytes.
func (c *call) serveContent(content files.Content, opts serveOptions) error {
	return c.serveBytes(servedContent{content.Entry.Name, content.Entry.MimeType, content.ETag, content.Entry.Size,
		content.Modified, content.ContentHandle}, opts)
}

// serveBytes serves all bytes of the service (docs/decisions.md: Serving files). It decides type,
// disposition, policy, caching, validators, ranges and HEAD. A file of the local store is sent by
// sendfile. Fault: Forbidden, see requestsActiveContent; a failing store is answered by
// contentWriter.
func (c *call) serveBytes(content servedContent, opts serveOptions) error {
	if requestsActiveContent(c.r) {
		return fault.New(fault.Forbidden, "Stored files cannot be loaded as scripts, styles or workers of this site.")
	}
	h := c.w.Header()
	media, inline, policy := safeType(content.mimeType)
	inline = inline && !opts.attachment
	terms := c.redirectTerms(media, inline, content.name)
	values := []string{media, policy, terms.Disposition, content.etag} // one allocation for all
	h["Content-Type"] = values[0:1:1]
	h["Content-Security-Policy"] = values[1:2:2]
	h["Content-Disposition"] = values[2:3:3]
	h["Etag"] = values[3:4:4]
	h["X-Content-Type-Options"] = nosniff
	// The sandbox policy applies to scripts and styles. The same URL is refused to a page of this
	// site that would run it, so a cached copy must not serve such a request.
	if policy == sandboxPolicy {
		h["Vary"] = varyByDestination
	}
	switch {
	case opts.immutable:
		h["Cache-Control"] = cacheForEver
	case opts.revalidate:
		h["Cache-Control"] = cacheRevalidated
	case opts.public:
		h["Cache-Control"] = c.a.linkCaching
	default:
		h["Cache-Control"] = cacheNowhere
	}
	if opts.public {
		h["Cross-Origin-Resource-Policy"] = crossOrigin
		allowAllOrigins(h)
	}
	if asked := c.r.Header.Get("Range"); strings.Count(asked, ",") >= maxRanges {
		c.r.Header.Del("Range")
	} else if strings.Contains(asked, "-0") {
		c.r.Header.Set("Range", withoutEmptySuffix(asked, content.size))
	}
	writer := &contentWriter{recorder: c.w, call: c, content: content, public: opts.public, beforeBody: opts.beforeBody,
		redirectTerms: terms}
	defer writer.close()
	http.ServeContent(writer, c.r, "", content.modified, writer)
	return nil
}

// redirectTerms returns the requirements on an answer that a store gives itself, after a redirect,
// for a file called name. media and inline are results of safeType. A publicDomain serves bytes
// without policy and disposition, so only content that is displayed anyway may come from it.
func (c *call) redirectTerms(media string, inline bool, name string) files.RedirectTerms {
	return files.RedirectTerms{Type: media, Disposition: disposition(inline, name), AnyHeaders: inline,
		HTTPSOnly: c.a.secure}
}

// withoutEmptySuffix returns the Range header asked with ranges of the last 0 bytes, which can't be
// satisfied (RFC 9110, section 14.1.2), replaced by ranges that begin at the end of the file of
// size bytes. net/http would answer 206 to the former, with a range that ends before it begins.
func withoutEmptySuffix(asked string, size int64) string {
	unit, list, _ := strings.Cut(asked, "=")
	specs := strings.Split(list, ",")
	for i, spec := range specs {
		zeros, suffix := strings.CutPrefix(strings.Trim(spec, " \t"), "-")
		if suffix && zeros != "" && strings.Trim(zeros, "0") == "" {
			specs[i] = fmt.Sprintf("%d-", size)
		}
	}
	return unit + "=" + strings.Join(specs, ",")
}

// requestsActiveContent reports whether a page of this site requests something to run: a script, a
// worker, a style sheet. Stored files are refused to such requests, so a policy that trusts the
// site's own origin does not make them trusted (abuse case C68). Content embedded by other sites
// runs as theirs.
func requestsActiveContent(r *http.Request) bool {
	if r.Header.Get("Service-Worker") == "script" {
		return true
	}
	switch r.Header.Get("Sec-Fetch-Dest") {
	case "script", "worker", "sharedworker", "serviceworker", "audioworklet", "paintworklet", "style", "xslt":
		return r.Header.Get("Sec-Fetch-Site") == "same-origin"
	}
	return false
}

const (
	imagePolicy   = "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'"
	mediaPolicy   = "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'"
	plainPolicy   = "default-src 'none'; style-src 'unsafe-inline'"
	sandboxPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
)

// safeType decides how a stored type is served, so that nothing a user stored runs as part of the
// site: the type to send, whether a browser may display it, and the content security policy. Types
// that browsers display safely are served inline, all others as an attachment in a sandbox (abuse
// case C67).
func safeType(stored string) (media string, inline bool, policy string) {
	media, inline = blob.InlineType(stored)
	top, _, _ := strings.Cut(media, "/")
	switch {
	case !inline:
		return media, false, sandboxPolicy
	case top == "image":
		return media, true, imagePolicy
	case top == "audio" || top == "video":
		return media, true, mediaPolicy
	}
	return media, true, plainPolicy
}

// disposition returns a Content-Disposition header, inline or attachment, for a file called name.
// It contains the name in ASCII for old clients, and in UTF-8 if the name is not ASCII (RFC 6266,
// RFC 8187).
func disposition(inline bool, name string) string {
	kind := "attachment"
	if inline {
		kind = "inline"
	}
	ascii := strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e || r == '"' || r == '\\' || r == '%' {
			return '_'
		}
		return r
	}, name)
	plain := kind + `; filename="` + ascii + `"`
	if ascii == name {
		return plain
	}
	return plain + "; filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}

// allowAllOrigins lets pages of all sites read the answer (CORS), without cookies.
func allowAllOrigins(h http.Header) { h["Access-Control-Allow-Origin"] = anyOrigin }

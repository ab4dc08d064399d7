package api

import (
	"errors"
	"slices"
	"time"

	"larder/internal/fault"
	"larder/internal/files"
)

// maxLinkIDs is the largest number of entries in one request for links.
const maxLinkIDs = 100

// linkFormats holds an address in the formats that documents use.
type linkFormats struct {
	Direct   string `json:"direct" required:"true"`
	HTML     string `json:"html" required:"true"`
	Markdown string `json:"markdown" required:"true"`
	BBCode   string `json:"bbcode" required:"true"`
}

type copyLinksInput struct {
	ID        string `path:"id" json:"-"`
	Signed    *bool  `query:"signed" json:"-" default:"false" description:"Without effect on a folder."`
	ExpiresIn *int64 `query:"expiresIn" json:"-" minimum:"60" maximum:"604800" default:"3600" description:"Lifetime of a signed link in seconds."`
}

type copyLinksReply struct {
	Formats       linkFormats `json:"formats" required:"true"`
	AccessMode    string      `json:"accessMode" required:"true" enum:"public_path,signed"`
	NeedsPassword bool        `json:"needsPassword" required:"true"`
	ExpiresIn     *int64      `json:"expiresIn" required:"true" description:"Seconds; null for a link that is not signed."`
}

// copyLinks handles GET /api/files/{id}/copy-links: the address of an entry in the formats that
// documents use, by its path, or as a signed link that anybody may use until it expires.
func (a *API) copyLinks(c *call, in copyLinksInput) (copyLinksReply, error) {
	if err := c.requirePermission("read"); err != nil {
		return copyLinksReply{}, err
	}
	results, err := c.linkResults([]string{in.ID}, valueOr(in.Signed, false), valueOr(in.ExpiresIn, 3600))
	if err != nil {
		return copyLinksReply{}, err
	}
	return results[0].reply, results[0].err
}

type copyManyLinksInput struct {
	IDs       []string `json:"ids" required:"true" minItems:"1" maxItems:"100"`
	Signed    *bool    `json:"signed" default:"false" description:"Without effect on folders."`
	ExpiresIn *int64   `json:"expiresIn" minimum:"60" maximum:"604800" default:"3600" description:"Lifetime of signed links in seconds."`
}

type copyManyLinksReply struct {
	Items []copyLinksItem `json:"items" required:"true" description:"In the order of ids, duplicates once."`
}

// copyLinksItem holds the links of one entry, or its error.
type copyLinksItem struct {
	ID            string          `json:"id" required:"true"`
	Formats       *linkFormats    `json:"formats,omitempty"`
	AccessMode    string          `json:"accessMode,omitempty" enum:"public_path,signed"`
	NeedsPassword *bool           `json:"needsPassword,omitempty"`
	ExpiresIn     nullable[int64] `json:"expiresIn,omitzero"`
	Error         string          `json:"error,omitempty" description:"A sentence for a person; only id, error and code are present then."`
	Code          string          `json:"code,omitempty" enum:"NOT_FOUND,FORBIDDEN,PASSWORD_REQUIRED"`
}

// copyManyLinks handles POST /api/files/copy-links: the addresses of up to maxLinkIDs entries in
// the formats that documents use, each with its own result, as copyLinks makes them.
func (a *API) copyManyLinks(c *call, in copyManyLinksInput) (copyManyLinksReply, error) {
	if err := c.requirePermission("read"); err != nil {
		return copyManyLinksReply{}, err
	}
	if len(in.IDs) == 0 || len(in.IDs) > maxLinkIDs {
		return copyManyLinksReply{}, fault.Newf(fault.Invalid, "ids must hold 1 to %d ids.", maxLinkIDs)
	}
	ids := distinct(in.IDs)
	results, err := c.linkResults(ids, valueOr(in.Signed, false), valueOr(in.ExpiresIn, 3600))
	if err != nil {
		return copyManyLinksReply{}, err
	}
	reply := copyManyLinksReply{Items: make([]copyLinksItem, len(ids))}
	for i, id := range ids {
		reply.Items[i] = results[i].item(id)
	}
	return reply, nil
}

// distinct returns ids without repetitions, in the order of their first occurrence.
func distinct(ids []string) []string {
	var out []string
	for _, id := range ids {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// linkResult holds the links of one entry, or the fault that prevents them.
type linkResult struct {
	reply copyLinksReply
	err   error
}

// item returns the result as an item of copyManyLinks: the links of the entry with that id, or the
// code and sentence of its fault.
func (l linkResult) item(id string) copyLinksItem {
	if l.err != nil {
		item := copyLinksItem{ID: id, Code: codes[fault.KindOf(l.err)].code}
		var f *fault.Error
		if errors.As(l.err, &f) {
			item.Error = f.Message
		}
		return item
	}
	r := l.reply
	return copyLinksItem{ID: id, Formats: &r.Formats, AccessMode: r.AccessMode, NeedsPassword: &r.NeedsPassword,
		ExpiresIn: nullable[int64]{true, r.ExpiresIn}}
}

// linkResults makes the links of the entries, one result for each of ids in their order: addresses
// of their paths, or signed links that work for expiresIn seconds. HEAD makes no signed link and
// only checks whether each could be made. An error concerns the whole request.
func (c *call) linkResults(ids []string, signed bool, expiresIn int64) ([]linkResult, error) {
	out := make([]linkResult, len(ids))
	if !signed {
		links, err := c.a.Tree.CopyLinks(c.ctx(), c.actor, ids, false)
		for i, link := range links {
			out[i] = c.pathLink(link)
		}
		return out, err
	}
	if c.omitBodyForHead() {
		links, err := c.a.Tree.CopyLinks(c.ctx(), c.actor, ids, true)
		for i, link := range links {
			out[i].err = link.Err
		}
		return out, err
	}
	links, err := c.a.Downloads.Sign(c.ctx(), c.actor, ids, time.Duration(expiresIn)*time.Second,
		func(file files.Entry) files.RedirectTerms {
			media, _, _ := safeType(file.MimeType)
			return c.redirectTerms(media, false, file.Name)
		})
	for i, link := range links {
		address := link.Address
		if link.Token != "" {
			address = c.url("/api/gateway/download/" + link.Token)
		}
		if address == "" {
			out[i] = c.pathLink(link.CopyLink)
			continue
		}
		out[i].reply = copyLinksReply{newLinkFormats(address, link.Entry), "signed", link.NeedsPassword, &expiresIn}
	}
	return out, err
}

// pathLink returns the public address of a file's path, or for a folder the address of the web UI's
// page that shows it.
func (c *call) pathLink(link files.CopyLink) linkResult {
	if link.Err != nil {
		return linkResult{err: link.Err}
	}
	address := c.pathURL(link.Entry.Path())
	if link.Entry.Folder {
		address = c.url("/app/files" + escapePath(link.Entry.Path().String()))
	}
	return linkResult{reply: copyLinksReply{newLinkFormats(address, link.Entry), "public_path", link.NeedsPassword,
		nil}}
}

// newLinkFormats writes an address in all formats (HTML, Markdown, BBCode), with the entry's name
// as the text.
func newLinkFormats(address string, entry files.Entry) linkFormats {
	if entry.Name == "" { // the root
		entry.Name = "/"
	}
	texts := linkTexts(address, entry)
	return linkFormats{texts.URL, texts.HTML, texts.Markdown, texts.BBCode}
}

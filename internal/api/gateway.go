package api

import (
	"strings"

	"larder/internal/download"
	"larder/internal/files"
)

// gateway handles GET /api/gateway/download/{token}: it turns a download token into bytes
// (specification: Download gateway). It opens the object first. Then it uses up a token that is
// valid once, and only for a GET that is answered with a body. For a token of a folder it sends a
// zip of the folder.
func (a *API) gateway(c *call) error {
	token := c.r.PathValue("token")
	redemption, err := a.Downloads.Resolve(c.ctx(), token, c.ip, c.actor.Unlocked...)
	if err != nil {
		return err
	}
	c.auditRedemption(redemption)
	useUp := func() error { return a.Downloads.Consume(c.ctx(), token) }
	if redemption.Folder != nil {
		source := addressSource + addressKey(c.ip)
		if redemption.UserID != "" {
			source = accountSource(redemption.UserID)
		}
		return c.serveZip(*redemption.Folder, source, useUp)
	}
	opts := serveOptions{attachment: redemption.Purpose != download.Preview}
	if redemption.Purpose == download.Save {
		opts.beforeBody = useUp
	}
	return c.serveContent(redemption.Content, opts)
}

// permanentLink handles GET /api/i/{link}: it serves the file of a permanent link to everyone.
func (a *API) permanentLink(c *call) error {
	content, err := c.linkedContent(c.r.PathValue("link"))
	if err != nil {
		return err
	}
	c.auditRead(content.Entry.Path())
	return c.serveContent(content, serveOptions{public: true})
}

// linkedContent finds the file of a permanent link, given as <id>.<extension>. It ignores the
// extension. Fault: NotFound, also for a link that does not work at present.
func (c *call) linkedContent(link string) (files.Content, error) {
	id, _, _ := strings.Cut(link, ".")
	return c.a.Tree.ByLink(c.ctx(), id)
}

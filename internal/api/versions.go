package api

import (
	"strconv"

	"larder/internal/audit"
	"larder/internal/download"
	"larder/internal/files"
)

// versionReply is a version of a file.
type versionReply struct {
	Until     int64        `json:"until" required:"true" description:"ms; when the version was replaced. Identifies the version within the file."`
	Since     int64        `json:"since" required:"true" description:"ms"`
	Size      int64        `json:"size" required:"true" description:"Bytes."`
	MimeType  string       `json:"mimeType" required:"true"`
	SHA256    *string      `json:"sha256" required:"true" description:"Hexadecimal; null while it is not known."`
	By        trashDeleter `json:"by" required:"true" description:"The account that replaced it; empty for a visitor."`
	ExpiresAt int64        `json:"expiresAt" required:"true" description:"ms; the end by the present setting trashDays. The oldest versions go sooner when an account keeps more than maxKept, or when used, reserved and kept bytes are more than twice maxStorage, and beyond 100 of a file."`
}

// viewVersion translates a former content of a file into its JSON form.
func viewVersion(v files.Version) versionReply {
	reply := versionReply{Until: v.Until, Since: v.Since, Size: v.Size, MimeType: v.MimeType,
		By: trashDeleter{v.ReplacedBy, v.ReplacedByName}, ExpiresAt: v.ExpiresAt}
	if v.SHA256 != "" {
		reply.SHA256 = &v.SHA256
	}
	return reply
}

type listVersionsReply struct {
	Versions []versionReply `json:"versions" required:"true" description:"Newest first, at most 100; without the present content, and without versions from a path that the caller may not read."`
}

// listVersions handles GET /api/files/{id}/versions: the former contents of a file that are kept,
// newest first.
func (a *API) listVersions(c *call, in idInput) (listVersionsReply, error) {
	if err := c.requirePermission("read"); err != nil {
		return listVersionsReply{}, err
	}
	versions, err := a.Tree.Versions(c.ctx(), c.actor, in.ID)
	if err != nil {
		return listVersionsReply{}, err
	}
	reply := listVersionsReply{Versions: make([]versionReply, len(versions))}
	for i, v := range versions {
		reply.Versions[i] = viewVersion(v)
	}
	return reply, nil
}

// versionInput names a version of a file.
type versionInput struct {
	ID    string `path:"id" json:"-"`
	Until string `path:"until" json:"-" description:"until of the version, ms."`
}

// untilOf reads the id of a version, which is the time of its end in ms. It returns 0, which no
// version has, for text that is no number.
func untilOf(text string) int64 {
	until, _ := strconv.ParseInt(text, 10, 64)
	return until
}

type downloadVersionInput struct {
	ID      string `path:"id" json:"-"`
	Until   string `path:"until" json:"-" description:"until of the version, ms."`
	Preview *bool  `query:"preview" json:"-" description:"true: an address that shows the version in a browser, any number of times within 15 minutes."`
}

// downloadVersion handles GET /api/files/{id}/versions/{until}/download: it makes an address of the
// gateway for a former content of a file. HEAD makes none.
func (a *API) downloadVersion(c *call, in downloadVersionInput) (downloadReply, error) {
	if err := c.requirePermission("read"); err != nil {
		return downloadReply{}, err
	}
	purpose := download.Save
	if valueOr(in.Preview, false) {
		purpose = download.Preview
	}
	until := untilOf(in.Until)
	if c.omitBodyForHead() {
		return downloadReply{}, a.Downloads.CheckIssueVersion(c.ctx(), c.actor, in.ID, until)
	}
	token, expires, err := a.Downloads.IssueVersion(c.ctx(), c.actor, c.session, in.ID, until, purpose)
	if err != nil {
		return downloadReply{}, err
	}
	return downloadReply{c.url("/api/gateway/download/" + token), expires.UnixMilli()}, nil
}

// restoreVersion handles POST /api/files/{id}/versions/{until}/restore: it gives a file the content
// of one of its versions. The present content becomes a version.
func (a *API) restoreVersion(c *call, in versionInput) (fileReply, error) {
	if err := c.requirePermission("write"); err != nil {
		return fileReply{}, err
	}
	c.auditEntry(audit.Restore, in.ID)
	entry, err := a.Tree.RestoreVersion(c.ctx(), c.actor, in.ID, untilOf(in.Until))
	if err != nil {
		return fileReply{}, err
	}
	return fileReply{viewEntry(entry)}, nil
}

// dropVersion handles DELETE /api/files/{id}/versions/{until}: it deletes a former content of a
// file for good.
func (a *API) dropVersion(c *call, in versionInput) (none, error) {
	if err := c.requirePermission("delete"); err != nil {
		return none{}, err
	}
	c.auditEntry(audit.Purge, in.ID)
	return none{}, a.Tree.DropVersion(c.ctx(), c.actor, in.ID, untilOf(in.Until))
}

package api

import (
	"cmp"

	"larder/internal/audit"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/upload"
	"larder/internal/vpath"
)

type createSessionInput struct {
	Path           *string `json:"path" required:"true" description:"The folder that the file goes into."`
	FileName       *string `json:"fileName" required:"true" maxLength:"255"`
	FileSize       *int64  `json:"fileSize" required:"true" minimum:"0" maximum:"21474836480" description:"Bytes."`
	MimeType       *string `json:"mimeType" maxLength:"255"`
	PartCount      *int64  `json:"partCount" minimum:"1" maximum:"2560"`
	IdempotencyKey *string `json:"idempotencyKey" minLength:"1" maxLength:"255"`
	Conflict       *string `json:"conflict" enum:"rename,replace,fail" default:"rename"`
	UploadMode     *string `json:"uploadMode" enum:"auto,worker" default:"auto" description:"worker: the bytes go through the service, for a client that can't reach the store."`
}

// partURL is the store's address that takes one part of an upload.
type partURL struct {
	PartNumber int64  `json:"partNumber" required:"true"`
	URL        string `json:"url" required:"true"`
}

type createSessionReply struct {
	SessionID        string      `json:"sessionId" required:"true"`
	UploadURL        string      `json:"uploadUrl" required:"true" description:"Where the bytes are PUT. Single: the store's address in mode presigned (exactly fileSize bytes, once or again, until expiresAt), else the service's. Multipart: the service's in both modes; the number of the part is added."`
	UploadID         *string     `json:"uploadId" required:"true" description:"The store's id of the multipart upload in mode presigned, otherwise null."`
	UploadMode       string      `json:"uploadMode" required:"true" enum:"presigned,worker" description:"presigned: the bytes may go straight to the store, without cookies or keys of this service. The raw and part endpoints take them as well."`
	TotalParts       *int64      `json:"totalParts" required:"true" description:"Number of parts of 8 MiB; the last one may be shorter. null for a session without parts."`
	Parts            []partURL   `json:"parts" required:"true" description:"Addresses at the store for every part, in mode presigned."`
	ExpiresAt        int64       `json:"expiresAt" required:"true"`
	ExpiresIn        int64       `json:"expiresIn" required:"true" description:"Seconds."`
	AlreadyCompleted bool        `json:"alreadyCompleted,omitempty" description:"The idempotency key names an upload that is complete."`
	File             *entryReply `json:"file,omitempty"`
}

// createSession handles POST /api/files/upload-session: it announces an upload, reserves its quota
// and answers where the client sends the bytes. Faults: those of upload.Service.Create.
func (a *API) createSession(c *call, in createSessionInput) (createSessionReply, error) {
	if err := c.requirePermission("write"); err != nil {
		return createSessionReply{}, err
	}
	dir, err := vpath.Parse(*in.Path)
	if err != nil {
		return createSessionReply{}, err
	}
	name, err := vpath.ParseName(*in.FileName)
	if err != nil {
		return createSessionReply{}, err
	}
	session, err := a.Uploads.Create(c.ctx(), c.actor, upload.NewSession{
		Dir: dir, Name: name, Size: *in.FileSize, MimeType: valueOr(in.MimeType, ""), PartCount: in.PartCount,
		IdempotencyKey: valueOr(in.IdempotencyKey, ""), Conflict: files.Conflict(valueOr(in.Conflict, "rename")),
		Mode: valueOr(in.UploadMode, "auto"), HTTPS: a.secure,
	})
	if err != nil {
		c.audit(audit.Upload, dir.Child(name)) // an accepted upload is noted when it is complete
		if fault.Is(err, fault.AlreadyExists) {
			c.describeExisting(dir.Child(name))
		}
		return createSessionReply{}, err
	}
	return c.viewSession(session), nil
}

// existingReply describes the entry whose name an upload asks for.
type existingReply struct {
	entryReply
	SHA256 string `json:"sha256,omitempty" description:"Of a file that the caller may download: hexadecimal, once it is known."`
}

// describeExisting adds the entry at a path to the error envelope, if the caller may read it.
func (c *call) describeExisting(path vpath.Path) {
	if c.requirePermission("read") != nil { // an API key that may only write
		return
	}
	entry, sum, err := c.a.Tree.Existing(c.ctx(), c.actor, path)
	switch {
	case err == nil:
		c.existing = &existingReply{viewEntry(entry), sum}
	case codes[fault.KindOf(err)].status >= 500:
		c.a.Log.Warn("look up the entry of a name that is taken", "request_id", c.requestID, "error", err)
	}
}

// viewSession translates an upload session into its JSON form, with the address that takes its
// bytes.
func (c *call) viewSession(session upload.Session) createSessionReply {
	path := "/api/files/upload/raw/" + session.ID
	if session.TotalParts != nil {
		path = "/api/files/upload/multipart/" + session.ID + "/part/"
	}
	reply := createSessionReply{
		SessionID: session.ID, UploadURL: cmp.Or(session.URL, c.url(path)), UploadMode: session.Mode,
		TotalParts: session.TotalParts, Parts: viewPartURLs(session.Parts),
		ExpiresAt: session.ExpiresAt, ExpiresIn: max(0, (session.ExpiresAt-c.a.Now().UnixMilli()+999)/1000),
		AlreadyCompleted: session.AlreadyCompleted,
	}
	if session.UploadID != "" {
		reply.UploadID = &session.UploadID
	}
	if session.File != nil {
		file := viewEntry(*session.File)
		reply.File = &file
	}
	return reply
}

// viewPartURLs translates the store's addresses for parts into their JSON form; the result is never
// nil.
func viewPartURLs(parts []upload.PartURL) []partURL {
	urls := make([]partURL, 0, len(parts))
	for _, p := range parts {
		urls = append(urls, partURL{int64(p.Number), p.URL})
	}
	return urls
}

type putRawReply struct {
	ETag string `json:"etag" required:"true"`
	Size int64  `json:"size" required:"true"`
}

// putRaw handles PUT /api/files/upload/raw/{sessionId}: it stores the body of the request as the
// content of a session for a file without parts. It answers the ETag, which the completion
// requires, and the size.
func (a *API) putRaw(c *call) error {
	if err := c.requirePermission("write"); err != nil {
		return err
	}
	etag, size, err := a.Uploads.PutRaw(c.ctx(), c.actor, c.r.PathValue("sessionId"), c.r.Body, c.r.ContentLength,
		c.r.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	c.answer(200, putRawReply{etag, size})
	return nil
}

// uploadPart is a part as a client lists it when it completes an upload.
type uploadPart struct {
	PartNumber int64  `json:"partNumber"`
	ETag       string `json:"etag"`
}

type completeUploadInput struct {
	SessionID *string       `json:"sessionId" required:"true"`
	ETag      *string       `json:"etag" description:"The etag from the answer to the raw upload, or the store's ETag header, quoted or not; needed for single-file sessions."`
	Parts     *[]uploadPart `json:"parts" description:"Ignored where the server recorded the parts."`
}

type completeUploadReply struct {
	File             entryReply `json:"file" required:"true"`
	AlreadyCompleted bool       `json:"alreadyCompleted,omitempty"`
}

// completeUpload handles POST /api/files/upload-complete: it makes the received bytes a file in the
// tree. A repeated request answers the same file. Faults: those of upload.Service.Complete.
func (a *API) completeUpload(c *call, in completeUploadInput) (completeUploadReply, error) {
	if err := c.requirePermission("write"); err != nil {
		return completeUploadReply{}, err
	}
	file, already, err := a.Uploads.Complete(c.ctx(), c.actor, *in.SessionID, valueOr(in.ETag, ""))
	if err == nil && !already {
		c.auditUpload(file)
	}
	return completeUploadReply{viewEntry(file), already}, err
}

type sessionInput struct {
	SessionID string `path:"sessionId" json:"-"`
}

// abortUpload handles DELETE /api/files/upload/multipart/{sessionId}: it ends an upload without a
// file and gives its quota back.
func (a *API) abortUpload(c *call, in sessionInput) (none, error) {
	if err := c.requirePermission("write"); err != nil {
		return none{}, err
	}
	return none{}, a.Uploads.Abort(c.ctx(), c.actor, in.SessionID)
}

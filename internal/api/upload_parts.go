package api

import (
	"strconv"

	"larder/internal/fault"
	"larder/internal/upload"
)

type putPartReply struct {
	PartNumber int64  `json:"partNumber" required:"true"`
	ETag       string `json:"etag" required:"true"`
}

// putPart handles PUT /api/files/upload/multipart/{sessionId}/part/{partNumber}: it stores the body
// as one part of an upload, a piece of 8 MiB. The answer's etag names these bytes.
func (a *API) putPart(c *call) error {
	if err := c.requirePermission("write"); err != nil {
		return err
	}
	number, err := partNumber(c.r.PathValue("partNumber"))
	if err != nil {
		return err
	}
	etag, err := a.Uploads.PutPart(c.ctx(), c.actor, c.r.PathValue("sessionId"), number, c.r.Body, c.r.ContentLength)
	if err != nil {
		return err
	}
	c.answer(200, putPartReply{int64(number), etag})
	return nil
}

// partNumber parses the number of a part in its only canonical form: decimal, without sign or
// leading zeros, so that one part has one address (abuse case C100). Fault: Invalid.
func partNumber(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || strconv.Itoa(n) != s {
		return 0, fault.New(fault.Invalid, "The part number must be an integer from 1 up.").WithCause(err)
	}
	return n, nil
}

type partReply struct {
	PartNumber int64  `json:"partNumber" required:"true"`
	ETag       string `json:"etag" required:"true"`
}

type listPartsReply struct {
	SessionID      string      `json:"sessionId" required:"true"`
	TotalParts     int64       `json:"totalParts" required:"true"`
	CompletedCount int64       `json:"completedCount" required:"true"`
	Parts          []partReply `json:"parts" required:"true"`
	MissingParts   []int64     `json:"missingParts" required:"true"`
	PresignedParts []partURL   `json:"presignedParts" required:"true" description:"New addresses at the store for the missing parts, in mode presigned."`
	UploadMode     string      `json:"uploadMode" required:"true" enum:"presigned,worker"`
}

// listParts handles GET /api/files/upload/multipart/{sessionId}/parts: the received and the missing
// parts of an upload, by which a client resumes it.
func (a *API) listParts(c *call, in sessionInput) (listPartsReply, error) {
	if err := c.requirePermission("write"); err != nil {
		return listPartsReply{}, err
	}
	parts, err := a.Uploads.Parts(c.ctx(), c.actor, in.SessionID)
	if err != nil {
		return listPartsReply{}, err
	}
	reply := listPartsReply{
		SessionID: in.SessionID, TotalParts: int64(parts.Total), CompletedCount: int64(len(parts.Received)),
		UploadMode: parts.Mode,
		Parts:      []partReply{}, MissingParts: []int64{}, PresignedParts: viewPartURLs(parts.URLs),
	}
	for _, p := range parts.Received {
		reply.Parts = append(reply.Parts, partReply{int64(p.Number), p.ETag})
	}
	for _, number := range parts.Missing {
		reply.MissingParts = append(reply.MissingParts, int64(number))
	}
	return reply, nil
}

// renewUpload handles POST /api/files/upload/multipart/{sessionId}/renew: it moves the expiry of an
// upload session to an hour from now, up to a day in all.
func (a *API) renewUpload(c *call, in sessionInput) (createSessionReply, error) {
	if err := c.requirePermission("write"); err != nil {
		return createSessionReply{}, err
	}
	session, err := a.Uploads.Renew(c.ctx(), c.actor, in.SessionID)
	if err != nil {
		return createSessionReply{}, err
	}
	return c.viewSession(session), nil
}

type listSessionsInput struct {
	Status *string `query:"status" json:"-" enum:"pending,expired" description:"expired: expired sessions whose parts are kept."`
}

type uploadSessionReply struct {
	SessionID      string  `json:"sessionId" required:"true"`
	Status         string  `json:"status" required:"true" enum:"pending,expired"`
	Path           string  `json:"path" required:"true" description:"The folder that the file goes into."`
	FileName       string  `json:"fileName" required:"true"`
	FileSize       int64   `json:"fileSize" required:"true" description:"Bytes."`
	UploadMode     string  `json:"uploadMode" required:"true" enum:"presigned,worker"`
	TotalParts     *int64  `json:"totalParts" required:"true"`
	ReceivedBytes  *int64  `json:"receivedBytes" required:"true" description:"null when the store does not report it."`
	IdempotencyKey *string `json:"idempotencyKey" required:"true"`
	CreatedAt      int64   `json:"createdAt" required:"true"`
	ExpiresAt      int64   `json:"expiresAt" required:"true"`
	KeptUntil      *int64  `json:"keptUntil" required:"true" description:"End of the time for which the parts of an expired session are kept."`
}

type listSessionsReply struct {
	Sessions []uploadSessionReply `json:"sessions" required:"true"`
}

// listSessions handles GET /api/files/upload-sessions: the caller's uploads under way, and expired
// ones whose parts are still kept.
func (a *API) listSessions(c *call, in listSessionsInput) (listSessionsReply, error) {
	if err := c.requirePermission("write"); err != nil {
		return listSessionsReply{}, err
	}
	sessions, err := a.Uploads.List(c.ctx(), c.actor, valueOr(in.Status, upload.All))
	if err != nil {
		return listSessionsReply{}, err
	}
	reply := listSessionsReply{Sessions: []uploadSessionReply{}}
	for _, s := range sessions {
		item := uploadSessionReply{
			SessionID: s.ID, Status: s.Status, Path: s.Dir.String(), FileName: string(s.Name), FileSize: s.Size,
			UploadMode: s.Mode, TotalParts: s.TotalParts,
			ReceivedBytes: s.Received, CreatedAt: s.CreatedAt, ExpiresAt: s.ExpiresAt, KeptUntil: s.KeptUntil,
		}
		if s.IdempotencyKey != "" {
			item.IdempotencyKey = &s.IdempotencyKey
		}
		reply.Sessions = append(reply.Sessions, item)
	}
	return reply, nil
}

package api

import (
	"strconv"

	"larder/internal/account"
	"larder/internal/audit"
	"larder/internal/fault"
)

// logEntryReply is a row of the access log (specification: Access log entry, with additions).
type logEntryReply struct {
	ID               string  `json:"id" required:"true"`
	UserID           *string `json:"userId" required:"true" description:"null for a visitor."`
	Username         *string `json:"username" required:"true" description:"null for a visitor, or when the account was deleted."`
	Avatar           *string `json:"avatar" required:"true" description:"An addition. The address of the account's uploaded picture, a path of this site; null for none."`
	KeyID            *string `json:"keyId" required:"true" description:"The API key that was used."`
	IP               *string `json:"ip" required:"true" description:"null for an entry that sums several requests."`
	Action           string  `json:"action" required:"true"`
	Path             string  `json:"path" required:"true" description:"Path of the file or folder at that time; path of the endpoint when the action concerns neither."`
	BytesTransferred int64   `json:"bytesTransferred" required:"true"`
	StatusCode       int     `json:"statusCode" required:"true"`
	Count            int64   `json:"count" required:"true" description:"Number of requests in this entry: visitors' reads of a public file are summed by the hour."`
	CreatedAt        int64   `json:"createdAt" required:"true" description:"ms; for an entry that sums requests the beginning of its hour."`
	RequestID        *string `json:"requestId" required:"true" description:"An addition. X-Request-Id of the response; null for an entry that sums requests, and for entries of earlier versions."`
	Method           *string `json:"method" required:"true" description:"An addition. The method of the request, which tells a change from a deletion; null for an entry that sums requests, for commands, and for entries of earlier versions."`
}

type listLogsInput struct {
	Page   *int64  `query:"page" json:"-" minimum:"1" maximum:"1000000000" default:"1"`
	Limit  *int64  `query:"limit" json:"-" minimum:"1" maximum:"200" default:"50"`
	UserID *string `query:"userId" json:"-" maxLength:"255"`
	Action *string `query:"action" json:"-" enum:"login,login_failed,register,upload,download,preview,delete,restore,purge,rewind,move,rename,folder,share,share_download,key,admin,webdav,free_mode"`
	Failed *bool   `query:"failed" json:"-" default:"false" description:"An addition. true: only entries with a status of 400 or more."`
	Search *string `query:"search" json:"-" maxLength:"255" description:"Part of the path, case-insensitive, or a whole requestId (an addition)."`
	From   *int64  `query:"from" json:"-" minimum:"0" maximum:"9007199254740991" description:"ms, inclusive."`
	To     *int64  `query:"to" json:"-" minimum:"0" maximum:"9007199254740991" description:"ms, inclusive."`
}

type listLogsReply struct {
	Logs       []logEntryReply `json:"logs" required:"true"`
	Pagination pagination      `json:"pagination" required:"true"`
}

// listLogs handles GET /api/admin/logs: a page of the access log, newest first, filtered by
// account, action, failure, time, and a text in the path.
func (a *API) listLogs(c *call, in listLogsInput) (listLogsReply, error) {
	page, limit := valueOr(in.Page, 1), valueOr(in.Limit, 50)
	entries, total, err := a.Audit.List(c.ctx(), audit.Query{
		UserID: valueOr(in.UserID, ""), Action: audit.Action(valueOr(in.Action, "")), Failed: valueOr(in.Failed, false),
		Search: valueOr(in.Search, ""), From: in.From, To: in.To, Page: page, Limit: limit,
	})
	if err != nil {
		return listLogsReply{}, err
	}
	avatars, err := avatarsOf(c, entries, userOfLogEntry)
	if err != nil {
		return listLogsReply{}, err
	}
	reply := listLogsReply{Logs: []logEntryReply{}, Pagination: paginate(total, page, limit)}
	for _, e := range entries {
		user, err := c.userNamed(e.UserID)
		if err != nil {
			return listLogsReply{}, err
		}
		reply.Logs = append(reply.Logs, logEntryReply{
			ID: strconv.FormatInt(e.ID, 10), UserID: optional(e.UserID), Username: optional(user.Username),
			Avatar: avatars[e.UserID], KeyID: optional(e.KeyID), IP: optional(e.IP),
			Action: string(e.Action), Path: e.Path, BytesTransferred: e.Bytes, StatusCode: e.Status, Count: e.Count,
			CreatedAt: e.CreatedAt, RequestID: optional(e.RequestID), Method: optional(e.Method),
		})
	}
	return reply, nil
}

// userOfLogEntry returns the id of the account that acted, "" for a visitor; avatarsOf calls it.
func userOfLogEntry(e audit.Entry) string { return e.UserID }

// userNamed returns the account with an id, for replies that show names beside ids. It returns the
// zero value for "" and for an account that does not exist any more.
func (c *call) userNamed(id string) (account.User, error) {
	if id == "" {
		return account.User{}, nil
	}
	version, err := c.configVersion()
	if err != nil {
		return account.User{}, err
	}
	user, err := c.a.Accounts.Cached(c.ctx(), version, id)
	if fault.Is(err, fault.NotFound) {
		return account.User{}, nil
	}
	return user, err
}

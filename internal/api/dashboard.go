package api

import (
	"larder/internal/account"
	"larder/internal/audit"
	"larder/internal/fault"
)

// storageReply holds the use of one provider.
type storageReply struct {
	ProviderID string `json:"providerId" required:"true"`
	Name       string `json:"name" required:"true"`
	UsedSpace  int64  `json:"usedSpace" required:"true" description:"Sum of the file sizes in bytes; each file counts in full, as in quotas."`
	FileCount  int64  `json:"fileCount" required:"true"`
}

// totalsReply holds the totals of the installation (specification: Dashboard and statistics).
type totalsReply struct {
	Users   int64          `json:"users" required:"true"`
	Files   int64          `json:"files" required:"true" description:"Number of files, without folders."`
	Storage []storageReply `json:"storage" required:"true" description:"All providers."`
}

// activityReply is one recent action from the access log.
type activityReply struct {
	Action     string  `json:"action" required:"true"`
	Path       string  `json:"path" required:"true"`
	UserID     *string `json:"userId" required:"true" description:"null for a visitor."`
	Username   *string `json:"username" required:"true" description:"null for a visitor, or when the account was deleted."`
	Avatar     *string `json:"avatar" required:"true" description:"An addition. The address of the account's uploaded picture, a path of this site; null for none."`
	StatusCode int     `json:"statusCode" required:"true"`
	CreatedAt  int64   `json:"createdAt" required:"true"`
	Method     *string `json:"method" required:"true" description:"An addition, as in the access log."`
}

type dashboardReply struct {
	Stats          totalsReply     `json:"stats" required:"true"`
	Requests24h    int64           `json:"requests24h" required:"true" description:"0 while the access log can't be read."`
	RecentActivity []activityReply `json:"recentActivity" required:"true" description:"The newest 10 entries of the access log; empty while the log can't be read."`
}

// dashboard handles GET /api/admin/dashboard: totals, the requests of the last 24 hours and the
// newest 10 actions. An access log that can't be read leaves its figures empty.
func (a *API) dashboard(c *call, _ struct{}) (reply dashboardReply, err error) {
	if reply.Stats, err = c.totals(); err != nil {
		return reply, err
	}
	if reply.Requests24h, err = a.Audit.Requests24h(c.ctx()); err != nil {
		if err := c.tolerateLogError(err); err != nil {
			return reply, err
		}
	}
	reply.RecentActivity, err = c.recentActivity(10)
	return reply, err
}

// tolerateLogError logs an error of the access log and returns nil, so that the dashboard still
// shows the totals. It returns the error when the request was canceled.
func (c *call) tolerateLogError(err error) error {
	if c.ctx().Err() != nil {
		return err
	}
	c.a.Log.ErrorContext(c.ctx(), "the access log can't be read, the dashboard omits its figures", "error", err)
	return nil
}

type statsReply struct {
	totalsReply
	RecentActivity []activityReply `json:"recentActivity" required:"true" description:"The newest 20 entries of the access log; empty while the log can't be read."`
}

// stats handles GET /api/admin/stats: the totals and the newest 20 actions.
func (a *API) stats(c *call, _ struct{}) (reply statsReply, err error) {
	if reply.totalsReply, err = c.totals(); err != nil {
		return reply, err
	}
	reply.RecentActivity, err = c.recentActivity(20)
	return reply, err
}

// totals returns the number of accounts and files, and the bytes and files of each provider.
func (c *call) totals() (totalsReply, error) {
	s, err := c.a.Lifecycle.Statistics(c.ctx())
	reply := totalsReply{Users: s.Users, Files: s.Files, Storage: []storageReply{}}
	for _, p := range s.Storage {
		reply.Storage = append(reply.Storage, storageReply{p.ID, p.Name, p.Bytes, p.Files})
	}
	return reply, err
}

// recentActivity returns the newest entries of the access log, at most `most`; none while the log
// can't be read.
func (c *call) recentActivity(most int64) ([]activityReply, error) {
	entries, _, err := c.a.Audit.List(c.ctx(), audit.Query{Page: 1, Limit: most})
	if err != nil {
		if err := c.tolerateLogError(err); err != nil {
			return nil, err
		}
	}
	avatars, err := avatarsOf(c, entries, userOfLogEntry)
	if err != nil {
		return nil, err
	}
	activity := []activityReply{}
	for _, e := range entries {
		user, err := c.userNamed(e.UserID)
		if err != nil {
			return nil, err
		}
		activity = append(activity, activityReply{string(e.Action), e.Path, optional(e.UserID), optional(user.Username),
			avatars[e.UserID], e.Status, e.CreatedAt, optional(e.Method)})
	}
	return activity, nil
}

const (
	maxPoints = 1000
	day       = 24 * 3600 // seconds
)

type seriesInput struct {
	Metric *string `query:"metric" json:"-" required:"true" enum:"requests,serverErrors,errors,uploads,uploadBytes,downloads,downloadBytes,logins,failedLogins,users" description:"requests: only the last 24 hours. serverErrors: those of these requests that were answered with a status of 500 or more. errors: entries of the access log with a status of 400 or more. users: accounts created, without those deleted since."`
	From   *int64  `query:"from" json:"-" minimum:"0" maximum:"9007199254740991" description:"ms, inclusive. Default: a day before to."`
	To     *int64  `query:"to" json:"-" minimum:"0" maximum:"9007199254740991" description:"ms, exclusive. Default: now."`
	Step   *int64  `query:"step" json:"-" minimum:"60" maximum:"2678400" default:"3600" description:"Seconds. At most 1000 steps."`
}

type pointReply struct {
	At    int64 `json:"at" required:"true" description:"ms; beginning of the step."`
	Value int64 `json:"value" required:"true"`
}

type seriesReply struct {
	Points []pointReply `json:"points" required:"true" description:"One point for each step, also without any event; to may cut the last step short."`
}

// series handles GET /api/admin/stats/series: the values of one metric between two times (ms), one
// for each step (seconds), at most maxPoints. Fault: Invalid.
func (a *API) series(c *call, in seriesInput) (seriesReply, error) {
	step := valueOr(in.Step, 3600) * 1000
	from, to, err := a.span(in.From, in.To)
	if err != nil {
		return seriesReply{}, err
	}
	n := (to - from + step - 1) / step
	if n > maxPoints {
		return seriesReply{}, fault.Newf(fault.Invalid,
			"The answer would have more than %d points. Choose a longer step or a shorter time.", maxPoints)
	}
	var values map[int64]int64
	if *in.Metric == "users" {
		values, err = account.Series(a.DB.Read(c.ctx()), from, to, step)
	} else {
		values, err = a.Audit.Series(c.ctx(), audit.Measure(*in.Metric), from, to, step)
	}
	reply := seriesReply{Points: make([]pointReply, n)}
	for i := range reply.Points {
		reply.Points[i] = pointReply{from + int64(i)*step, values[int64(i)]}
	}
	return reply, err
}

// span returns the beginning (inclusive) and the end (exclusive) of a time of statistics (ms): by
// default the day before now. Fault: Invalid.
func (a *API) span(first, end *int64) (from, to int64, err error) {
	to = valueOr(end, a.Now().UnixMilli())
	from = valueOr(first, max(0, to-day*1000))
	if from >= to {
		return 0, 0, fault.New(fault.Invalid, "from must be earlier than to.")
	}
	return from, to, nil
}

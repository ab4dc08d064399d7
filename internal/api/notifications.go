package api

import (
	"larder/internal/fault"
	"larder/internal/lifecycle"
	"larder/internal/notice"
)

// notificationReply is a notification. Each kind has fields of its own.
type notificationReply struct {
	ID        string `json:"id" required:"true"`
	Kind      string `json:"kind" required:"true" enum:"job,share,quota,upload"`
	CreatedAt int64  `json:"createdAt" required:"true" description:"ms"`
	Read      bool   `json:"read" required:"true"`

	Path      *string `json:"path,omitempty" description:"Of a job: the target folder, of a rewind the folder above; empty for an evacuation. Of an upload: the folder of the file."`
	Name      *string `json:"name,omitempty" description:"Of a job: the name of the entry, of an evacuation that of the provider or the path of the mount; empty when it is not known any more. Of a share: its title or the name of the entry. Of an upload: the name of the file."`
	JobID     *string `json:"jobId,omitempty"`
	JobType   *string `json:"jobType,omitempty" enum:"move,copy,rewind,evacuate"`
	Target    *string `json:"target,omitempty" description:"Of an evacuation: the name of the provider that gets the objects, empty when it is not known any more."`
	Status    *string `json:"status,omitempty" enum:"completed,failed" description:"Of a job."`
	Jobs      *int64  `json:"jobs,omitempty" description:"Of a job: the number of jobs with the same target that ended shortly after each other, among them jobId."`
	Error     *string `json:"error,omitempty" description:"Of a failed job: a sentence for a person."`
	Files     *int64  `json:"files,omitempty" description:"Of a completed job: the number of moved or copied files."`
	ShareID   *string `json:"shareId,omitempty"`
	ExpiresAt *int64  `json:"expiresAt,omitempty" description:"Of a share: its end, ms."`
	Percent   *int64  `json:"percent,omitempty" description:"Of the quota: the used part of the bytes."`
	KeptUntil *int64  `json:"keptUntil,omitempty" description:"Of an upload: until when its received parts are kept, ms; absent when there are none."`
}

// viewNotification translates a notification into its JSON form, with the fields that its kind has.
func viewNotification(n notice.Notification) notificationReply {
	reply := notificationReply{ID: n.ID, Kind: string(n.Kind), CreatedAt: n.CreatedAt, Read: n.Read}
	p := n.Params
	jobs := max(p.Jobs, 1)
	switch n.Kind {
	case notice.Job:
		status := "completed"
		if p.Failed {
			status, reply.Error = "failed", &p.Message
		}
		reply.Path, reply.Name, reply.JobID, reply.JobType = &p.Path, &p.Name, &p.JobID, &p.JobType
		if p.JobType == lifecycle.EvacuateJob {
			reply.Target = &p.Target
		}
		reply.Status, reply.Jobs, reply.Files = &status, &jobs, p.Files
	case notice.Share:
		reply.Name, reply.ShareID, reply.ExpiresAt = &p.Name, &p.ShareID, &p.ExpiresAt
	case notice.Quota:
		reply.Percent = &p.Percent
	case notice.Upload:
		reply.Path, reply.Name = &p.Path, &p.Name
		if p.KeptUntil > 0 {
			reply.KeptUntil = &p.KeptUntil
		}
	}
	return reply
}

type notificationsInput struct {
	Limit  *int64  `query:"limit" json:"-" minimum:"1" maximum:"100" default:"30"`
	Before *string `query:"before" json:"-" maxLength:"36" description:"The id of a notification: only older ones are listed."`
}

type notificationsReply struct {
	Notifications []notificationReply `json:"notifications" required:"true" description:"Newest first."`
	Unread        int64               `json:"unread" required:"true" description:"Of all notifications of the account."`
}

// myNotifications handles GET /api/users/me/notifications: a page of the caller's notifications,
// newest first, and the number of all unread ones.
func (a *API) myNotifications(c *call, in notificationsInput) (notificationsReply, error) {
	page, unread, err := a.Notices.List(c.ctx(), c.user.ID, valueOr(in.Before, ""), valueOr(in.Limit, 30))
	reply := notificationsReply{Notifications: make([]notificationReply, len(page)), Unread: unread}
	for i, n := range page {
		reply.Notifications[i] = viewNotification(n)
	}
	return reply, err
}

type readNotificationsInput struct {
	IDs []text `json:"ids" minItems:"1" maxItems:"500" description:"Either this or all. Unknown ids count for nothing."`
	All *bool  `json:"all" description:"true marks all notifications of the account."`
}

type readNotificationsReply struct {
	Unread int64 `json:"unread" required:"true"`
}

// readNotifications handles POST /api/users/me/notifications/read: it marks the named
// notifications, or all, as read, and answers the number that is unread then.
func (a *API) readNotifications(c *call, in readNotificationsInput) (reply readNotificationsReply, err error) {
	all := in.All != nil && *in.All
	if all == (in.IDs != nil) || in.All != nil && in.IDs != nil {
		return reply, fault.New(fault.Invalid, "Give either ids or all: true.")
	}
	if all {
		reply.Unread, err = a.Notices.MarkAllRead(c.ctx(), c.user.ID)
		return reply, err
	}
	ids := make([]string, len(in.IDs))
	for i, id := range in.IDs {
		ids[i] = string(id)
	}
	reply.Unread, err = a.Notices.MarkRead(c.ctx(), c.user.ID, ids)
	return reply, err
}

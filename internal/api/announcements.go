package api

import "larder/internal/site"

// announcementReply is an announcement as everyone sees it (specification: Public endpoints).
type announcementReply struct {
	ID      string `json:"id" required:"true"`
	Title   string `json:"title" required:"true" description:"Plain text."`
	Content string `json:"content" required:"true" description:"Plain text; lines end in a newline."`
	Level   string `json:"level" required:"true" enum:"info,warning,danger"`
}

type announcementsReply struct {
	Items []announcementReply `json:"items" required:"true"`
}

// publicAnnouncements handles GET /api/public/announcements: the announcements that have not
// expired, newest first. The sign-in page shows them too, so it does not check whether guest access
// is on.
func (a *API) publicAnnouncements(c *call, _ struct{}) (announcementsReply, error) {
	reply := announcementsReply{Items: []announcementReply{}}
	version, err := c.configVersion()
	if err != nil {
		return reply, err
	}
	active, err := a.Announcements.Active(c.ctx(), version)
	for _, n := range active {
		reply.Items = append(reply.Items, announcementReply{n.ID, n.Title, n.Content, n.Level})
	}
	return reply, err
}

// adminAnnouncementReply is an announcement as administrators see it.
type adminAnnouncementReply struct {
	announcementReply
	ExpiresAt *int64 `json:"expiresAt" required:"true" description:"null when it never expires."`
	CreatedAt int64  `json:"createdAt" required:"true"`
	UpdatedAt int64  `json:"updatedAt" required:"true"`
}

// viewAnnouncement translates an announcement into the JSON form for administrators.
func viewAnnouncement(n site.Announcement) adminAnnouncementReply {
	return adminAnnouncementReply{announcementReply{n.ID, n.Title, n.Content, n.Level}, n.ExpiresAt, n.CreatedAt,
		n.UpdatedAt}
}

type adminAnnouncementsReply struct {
	Items []adminAnnouncementReply `json:"items" required:"true"`
}

// listAnnouncements handles GET /api/admin/announcements: all of them, expired ones too, newest
// first.
func (a *API) listAnnouncements(c *call, _ struct{}) (adminAnnouncementsReply, error) {
	reply := adminAnnouncementsReply{Items: []adminAnnouncementReply{}}
	all, err := a.Announcements.All(c.ctx())
	for _, n := range all {
		reply.Items = append(reply.Items, viewAnnouncement(n))
	}
	return reply, err
}

type createAnnouncementInput struct {
	Title     *string `json:"title" required:"true" maxLength:"200"`
	Content   *string `json:"content" required:"true" maxLength:"5000"`
	Level     *string `json:"level" enum:"info,warning,danger" default:"info"`
	ExpiresIn *int64  `json:"expiresIn" minimum:"60" maximum:"315360000" description:"Seconds; null for no end."`
}

type updateAnnouncementInput struct {
	ID        string          `path:"id" json:"-"`
	Title     *string         `json:"title" minLength:"1" maxLength:"200"`
	Content   *string         `json:"content" minLength:"1" maxLength:"5000"`
	Level     *string         `json:"level" enum:"info,warning,danger"`
	ExpiresIn nullable[int64] `json:"expiresIn" minimum:"60" maximum:"315360000" description:"Seconds from now; null for no end."`
}

type oneAnnouncementReply struct {
	Announcement adminAnnouncementReply `json:"announcement" required:"true"`
}

// createAnnouncement handles POST /api/admin/announcements: it makes a text that everyone sees.
// Without expiresIn (seconds from now) the announcement never expires.
func (a *API) createAnnouncement(c *call, in createAnnouncementInput) (oneAnnouncementReply, error) {
	made, err := a.Announcements.Create(c.ctx(),
		site.AnnouncementInput{Title: in.Title, Content: in.Content, Level: in.Level, SetExpiry: true,
			ExpiresIn: in.ExpiresIn})
	return oneAnnouncementReply{viewAnnouncement(made)}, err
}

// updateAnnouncement handles PUT /api/admin/announcements/{id}: it changes the given fields;
// expiresIn null removes the end.
func (a *API) updateAnnouncement(c *call, in updateAnnouncementInput) (oneAnnouncementReply, error) {
	changed, err := a.Announcements.Change(c.ctx(), in.ID, site.AnnouncementInput{
		Title: in.Title, Content: in.Content, Level: in.Level, SetExpiry: in.ExpiresIn.isSet,
		ExpiresIn: in.ExpiresIn.value,
	})
	return oneAnnouncementReply{viewAnnouncement(changed)}, err
}

// deleteAnnouncement handles DELETE /api/admin/announcements/{id}: it deletes an announcement of
// the site. Fault: NotFound.
func (a *API) deleteAnnouncement(c *call, in idInput) (none, error) {
	return none{}, a.Announcements.Delete(c.ctx(), in.ID)
}

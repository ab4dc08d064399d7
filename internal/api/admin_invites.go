package api

import (
	"time"

	"larder/internal/account"
)

// inviteReply is an invite code as administrators see it.
type inviteReply struct {
	ID        string `json:"id" required:"true"`
	Code      string `json:"code" required:"true"`
	MaxUses   int64  `json:"maxUses" required:"true"`
	UsedCount int64  `json:"usedCount" required:"true"`
	ExpiresAt *int64 `json:"expiresAt" required:"true"`
	Note      string `json:"note" required:"true"`
	CreatedAt int64  `json:"createdAt" required:"true"`
	Usable    bool   `json:"usable" required:"true" description:"A registration with the code would be accepted now."`
}

// viewInvite translates an invite code, which allows people to register, into its JSON form.
func viewInvite(i account.Invite) inviteReply {
	return inviteReply{i.ID, i.Code, i.MaxUses, i.UsedCount, i.ExpiresAt, i.Note, i.CreatedAt, i.Usable}
}

type createInviteInput struct {
	MaxUses   *int64  `json:"maxUses" minimum:"1" maximum:"10000" default:"1"`
	ExpiresIn *int64  `json:"expiresIn" minimum:"60" maximum:"315360000" description:"Seconds; none for no end."`
	Note      *string `json:"note" maxLength:"200"`
}

type createInviteReply struct {
	Invite inviteReply `json:"invite" required:"true"`
}

// createInvite handles POST /api/admin/invites: it makes a code that allows a number of
// registrations, one by default. A code without expiresIn never expires.
func (a *API) createInvite(c *call, in createInviteInput) (createInviteReply, error) {
	invite, err := a.Accounts.CreateInvite(c.ctx(), account.NewInvite{
		MaxUses: valueOr(in.MaxUses, 1), Lifetime: time.Duration(valueOr(in.ExpiresIn, 0)) * time.Second,
		Note: valueOr(in.Note, ""), CreatedBy: c.user.ID,
	})
	return createInviteReply{viewInvite(invite)}, err
}

type listInvitesReply struct {
	Invites []inviteReply `json:"invites" required:"true"`
}

// listInvites handles GET /api/admin/invites: all codes, newest first, used and expired ones too.
func (a *API) listInvites(c *call, _ struct{}) (listInvitesReply, error) {
	invites, err := a.Accounts.Invites(c.ctx())
	reply := listInvitesReply{Invites: []inviteReply{}}
	for _, i := range invites {
		reply.Invites = append(reply.Invites, viewInvite(i))
	}
	return reply, err
}

// deleteInvite handles DELETE /api/admin/invites/{id}: it deletes an invite code, which can't be
// used any more. Accounts that registered with it stay.
func (a *API) deleteInvite(c *call, in idInput) (none, error) {
	return none{}, a.Accounts.DeleteInvite(c.ctx(), in.ID)
}

package api

import "net/http"

// mySession is a signed-in browser of the caller's account.
type mySession struct {
	ID         string `json:"id" required:"true"`
	Device     string `json:"device" required:"true" description:"Browser and system, or the program, as they named themselves at the sign-in; empty for none."`
	IP         string `json:"ip" required:"true" description:"Address of the sign-in."`
	CreatedAt  int64  `json:"createdAt" required:"true" description:"ms"`
	LastUsedAt int64  `json:"lastUsedAt" required:"true" description:"ms; exact to a minute."`
	Current    bool   `json:"current" required:"true" description:"The session of this request."`
}

type mySessionsReply struct {
	Sessions []mySession `json:"sessions" required:"true"`
}

// mySessions handles GET /api/users/me/sessions: the signed-in browsers of the caller's account,
// the last used first.
func (a *API) mySessions(c *call, _ struct{}) (mySessionsReply, error) {
	all, err := a.Accounts.Sessions(c.ctx(), c.user.ID)
	reply := mySessionsReply{Sessions: make([]mySession, len(all))}
	for i, s := range all {
		reply.Sessions[i] = mySession{s.ID, s.Device, s.IP, s.CreatedAt, s.LastUsedAt, s.ID == c.session.ID}
	}
	return reply, err
}

type mySessionInput struct {
	ID string `path:"id" json:"-"`
}

// endMySession handles DELETE /api/users/me/sessions/{id}: it signs one browser of the caller's
// account out. It clears the cookies when that is the session of this request.
func (a *API) endMySession(c *call, in mySessionInput) (none, error) {
	if err := a.Accounts.EndSession(c.ctx(), *c.session, in.ID); err != nil {
		return none{}, err
	}
	if in.ID == c.session.ID {
		http.SetCookie(c.w, a.sessionCookie("", -1))
		c.clearProofs()
	}
	return none{}, nil
}

// endMyOtherSessions handles DELETE /api/users/me/sessions: it ends all sessions of the account but
// the one of this request.
func (a *API) endMyOtherSessions(c *call, _ struct{}) (none, error) {
	return none{}, a.Accounts.EndOtherSessions(c.ctx(), *c.session)
}

package api

import (
	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/fault"
	"larder/internal/lifecycle"
	"larder/internal/quota"
	"larder/internal/secret"
	"larder/internal/vpath"
)

type createUserInput struct {
	Username   *string `json:"username" required:"true" minLength:"3" maxLength:"20"`
	Password   *string `json:"password" required:"true" minLength:"8" maxLength:"128"`
	Email      *string `json:"email" required:"true" maxLength:"254"`
	Role       *string `json:"role" enum:"admin,user,guest" default:"user"`
	MaxStorage *int64  `json:"maxStorage" minimum:"-1" description:"Bytes; -1 for unlimited."`
	MaxFiles   *int64  `json:"maxFiles" minimum:"-1" description:"-1 for unlimited."`
}

// adminUserReply is an account as administrators see it.
type adminUserReply struct {
	userReply
	Status    string     `json:"status" required:"true" enum:"active,disabled,banned"`
	Quota     quotaReply `json:"quota" required:"true"`
	CreatedAt int64      `json:"createdAt" required:"true"`
	UpdatedAt int64      `json:"updatedAt" required:"true"`

	KeptStorage int64 `json:"keptStorage" required:"true" description:"An addition. Bytes that only the trash keeps of the account."`
	MaxKept     int64 `json:"maxKept" required:"true" description:"An addition. The bound of keptStorage; -1 for none."`

	Avatar     *string `json:"avatar" required:"true" description:"An addition. The address of the account's uploaded picture, a path of this site; null for none."`
	LastSeenAt *int64  `json:"lastSeenAt" required:"true" description:"The last use of a session or API key, exact to about a minute; null for none."`
}

// viewAdminUser translates an account into the JSON form for administrators. avatar is the address
// of its uploaded picture, nil for none.
func viewAdminUser(u lifecycle.ListedUser, avatar *string) adminUserReply {
	q := u.Quota
	return adminUserReply{viewUser(u.User), string(u.Status),
		quotaReply{q.MaxStorage, q.UsedStorage, q.MaxFiles, q.UsedFiles}, u.CreatedAt, u.UpdatedAt, u.Kept.Storage,
		u.Kept.Max, avatar, u.LastSeenAt}
}

type oneUserReply struct {
	User adminUserReply `json:"user" required:"true"`
}

// createUser handles POST /api/admin/users: it creates an account whose address counts as verified.
// Faults: Invalid, AlreadyExists, RateLimited.
func (a *API) createUser(c *call, in createUserInput) (oneUserReply, error) {
	user, err := a.Lifecycle.CreateUser(c.ctx(), lifecycle.NewUser{
		NewUser: account.NewUser{
			Username: *in.Username, Email: *in.Email, Password: secret.Text(*in.Password),
			Role: access.Role(valueOr(in.Role, "user")), EmailVerified: true,
		},
		MaxStorage: in.MaxStorage, MaxFiles: in.MaxFiles, Source: c.hashSource(),
	})
	if err != nil {
		return oneUserReply{}, err
	}
	used, err := quota.Get(a.DB.Read(c.ctx()), user.ID)
	if err != nil {
		return oneUserReply{}, err
	}
	kept, err := quota.KeptOf(a.DB.Read(c.ctx()), user.ID)
	return oneUserReply{viewAdminUser(lifecycle.ListedUser{User: user, Quota: used, Kept: kept}, nil)}, err
}

type listUsersInput struct {
	Page   *int64  `query:"page" json:"-" minimum:"1" maximum:"1000000000" default:"1"`
	Limit  *int64  `query:"limit" json:"-" minimum:"1" maximum:"100" default:"20"`
	Role   *string `query:"role" json:"-" enum:"admin,user,guest"`
	Status *string `query:"status" json:"-" enum:"active,disabled,banned"`
	Search *string `query:"search" json:"-" maxLength:"255" description:"Part of the username, email address or display name, case-insensitive."`
}

type listUsersReply struct {
	Users      []adminUserReply `json:"users" required:"true"`
	Pagination pagination       `json:"pagination" required:"true"`
}

// listUsers handles GET /api/admin/users: a page of the accounts, sorted by username, with quotas
// and last use.
func (a *API) listUsers(c *call, in listUsersInput) (listUsersReply, error) {
	page, limit := valueOr(in.Page, 1), valueOr(in.Limit, 20)
	people, total, err := a.Lifecycle.ListUsers(c.ctx(), account.Filter{
		Role: access.Role(valueOr(in.Role, "")), Status: account.Status(valueOr(in.Status, "")),
		Search: valueOr(in.Search, ""),
	}, limit, (page-1)*limit)
	if err != nil {
		return listUsersReply{}, err
	}
	avatars, err := avatarsOf(c, people, idOfListedUser)
	reply := listUsersReply{Users: []adminUserReply{}, Pagination: paginate(total, page, limit)}
	for _, p := range people {
		reply.Users = append(reply.Users, viewAdminUser(p, avatars[p.ID]))
	}
	return reply, err
}

type updateUserInput struct {
	ID          string          `path:"id" json:"-"`
	Role        *string         `json:"role" enum:"admin,user,guest"`
	Status      *string         `json:"status" enum:"active,disabled,banned"`
	DefaultPath *string         `json:"defaultPath" minLength:"1" description:"Becomes the home, unless it is the root or shared with another account's home; then it is only the folder that opens first."`
	MaxStorage  *int64          `json:"maxStorage" minimum:"-1" description:"Bytes; -1 for unlimited."`
	MaxFiles    *int64          `json:"maxFiles" minimum:"-1" description:"-1 for unlimited."`
	MaxKept     nullable[int64] `json:"maxKept" minimum:"-1" description:"An addition. Bytes that the trash may keep; -1 for unlimited, null for the default: half of maxStorage, 100 GiB without a limit."`
}

// updateUser handles PUT /api/admin/users/{id}: it changes the given ones of role, status, home and
// limits of an account. Lifecycle refuses changes that would leave no active administrator.
func (a *API) updateUser(c *call, in updateUserInput) (oneUserReply, error) {
	change := lifecycle.UserUpdate{
		Role: (*access.Role)(in.Role), Status: (*account.Status)(in.Status), MaxStorage: in.MaxStorage,
		MaxFiles: in.MaxFiles, MaxKept: in.MaxKept.value, DefaultMaxKept: in.MaxKept.isSet && in.MaxKept.value == nil,
	}
	if in.DefaultPath != nil {
		path, err := vpath.Parse(*in.DefaultPath)
		if err != nil {
			return oneUserReply{}, fault.InField(err, "defaultPath")
		}
		change.DefaultPath = &path
	}
	changed, err := a.Lifecycle.UpdateUser(c.ctx(), c.actor.UserID, in.ID, change)
	if err != nil {
		return oneUserReply{}, err
	}
	avatars, err := avatarsOf(c, []lifecycle.ListedUser{changed}, idOfListedUser)
	return oneUserReply{viewAdminUser(changed, avatars[changed.ID])}, err
}

// idOfListedUser returns the id of the account in a row; avatarsOf calls it.
func idOfListedUser(u lifecycle.ListedUser) string { return u.ID }

// userImpactReply counts the sessions, keys and shares that end with an account, and the files that
// pass to another one.
type userImpactReply struct {
	Sessions int64 `json:"sessions" required:"true" description:"Sessions that have not ended."`
	Keys     int64 `json:"keys" required:"true" description:"Active API keys."`
	Shares   int64 `json:"shares" required:"true" description:"Active shares."`
	Files    int64 `json:"files" required:"true"`
	Storage  int64 `json:"storage" required:"true" description:"Bytes of the files."`
}

// userImpact handles GET /api/admin/users/{id}/impact: it counts what ends and what passes to
// another account if an account is deleted, for the web UI's question before that.
func (a *API) userImpact(c *call, in idInput) (userImpactReply, error) {
	i, err := a.Lifecycle.Impact(c.ctx(), in.ID)
	return userImpactReply(i), err
}

type newPasswordReply struct {
	Password string `json:"password" required:"true" description:"It is not shown again."`
}

// resetPasswordOf handles POST /api/admin/users/{id}/password: it gives another account a random
// password and ends its sessions. Faults: Invalid for the caller's own account, NotFound,
// RateLimited.
func (a *API) resetPasswordOf(c *call, in idInput) (newPasswordReply, error) {
	password, err := a.Lifecycle.ResetPasswordOf(c.ctx(), c.hashSource(), c.actor.UserID, in.ID)
	return newPasswordReply{password.Reveal()}, err
}

// deleteUser handles DELETE /api/admin/users/{id}: it deletes an account and ends its sessions,
// keys and shares. Its files pass to the calling administrator.
func (a *API) deleteUser(c *call, in idInput) (none, error) {
	return none{}, a.Lifecycle.DeleteUser(c.ctx(), c.actor.UserID, in.ID)
}

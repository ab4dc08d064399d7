package api

import (
	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/lifecycle"
	"larder/internal/secret"
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
}

type createUserReply struct {
	User adminUserReply `json:"user" required:"true"`
}

func (a *API) createUser(c *call, in createUserInput) (createUserReply, error) {
	user, err := a.Lifecycle.CreateUser(c.ctx(), lifecycle.NewUser{
		NewUser: account.NewUser{
			Username: *in.Username, Email: *in.Email, Password: secret.Text(*in.Password), Role: access.Role(or(in.Role, "user")), EmailVerified: true,
		},
		MaxStorage: in.MaxStorage, MaxFiles: in.MaxFiles,
	})
	if err != nil {
		return createUserReply{}, err
	}
	used, err := c.quota(user.ID)
	return createUserReply{adminUserReply{viewUser(user), string(user.Status), used, user.CreatedAt, user.UpdatedAt}}, err
}

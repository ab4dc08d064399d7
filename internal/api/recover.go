package api

import "larder/internal/secret"

// messageReply is the reply of an endpoint that only confirms its action.
type messageReply struct {
	Message string `json:"message" required:"true"`
}

type forgotPasswordInput struct {
	Email *string `json:"email" required:"true" description:"Email address of the account."`
}

// forgotPassword handles POST /api/auth/forgot-password: it queues the mail with a link to set a
// new password. It gives the same answer in the same time for every address; a job does the work
// (abuse case C48).
func (a *API) forgotPassword(c *call, in forgotPasswordInput) (messageReply, error) {
	err := a.Accounts.QueueReset(c.ctx(), *in.Email)
	return messageReply{"If this address belongs to an account, a link to set a new password is being sent to it."}, err
}

type resetPasswordInput struct {
	Token    *string `json:"token" required:"true" description:"From the mailed link; valid once, for 15 minutes."`
	Password *string `json:"password" required:"true" minLength:"8" maxLength:"128" description:"At most 512 bytes."`
}

// resetPassword handles POST /api/auth/reset-password: it sets a new password by the token in the
// mailed link. Faults: those of lifecycle.Service.RecoverPassword.
func (a *API) resetPassword(c *call, in resetPasswordInput) (messageReply, error) {
	err := a.Lifecycle.RecoverPassword(c.ctx(), c.hashSource(), *in.Token, secret.Text(*in.Password))
	return messageReply{"The new password is set. Sign in with it."}, err
}

package api

import (
	"net/http"

	"larder/internal/access"
	"larder/internal/account"
	"larder/internal/secret"
	"larder/internal/site"
)

type profileReply struct {
	ID            string  `json:"id" required:"true" description:"An addition."`
	Username      string  `json:"username" required:"true"`
	Email         string  `json:"email" required:"true"`
	EmailVerified bool    `json:"emailVerified" required:"true"`
	DisplayName   *string `json:"displayName" required:"true"`
	AvatarURL     *string `json:"avatarUrl" required:"true"`
	Avatar        *string `json:"avatar" required:"true" description:"An addition. The address of the uploaded picture, a path of this site; null for none."`
	DefaultPath   string  `json:"defaultPath" required:"true"`
	Locale        string  `json:"locale" required:"true" enum:"zh-CN,en-US"`
	Role          string  `json:"role" required:"true" enum:"admin,user,guest"`
	CreatedAt     int64   `json:"createdAt" required:"true" description:"ms"`
}

type appearanceReply struct {
	Theme       string `json:"theme" required:"true" enum:"light,dark,system"`
	AccentColor string `json:"accentColor" required:"true" pattern:"^#[0-9A-Fa-f]{6}$"`
	EnableBlur  bool   `json:"enableBlur" required:"true"`
}

type mySettingsReply struct {
	Profile    profileReply    `json:"profile" required:"true"`
	Appearance appearanceReply `json:"appearance" required:"true"`
	Quota      quotaReply      `json:"quota" required:"true"`
	TrashDays  int             `json:"trashDays" required:"true" description:"An addition. The site setting trashDays: how long deleted entries stay in the trash; 0 without a trash."`
	Setup      string          `json:"setup,omitempty" enum:"steps,checklist,done" description:"An addition, for administrators alone. Progress of the first run; checklist in place of steps once the site has a file or another account."`
}

// mySettings handles GET /api/users/me/settings: profile, appearance and quota of the caller, and
// the site settings that its pages need.
func (a *API) mySettings(c *call, _ struct{}) (mySettingsReply, error) {
	used, err := c.quota(c.user.ID)
	if err != nil {
		return mySettingsReply{}, err
	}
	picture, err := a.Accounts.AvatarID(c.ctx(), c.user.ID)
	if err != nil {
		return mySettingsReply{}, err
	}
	var avatar *string
	if picture != "" {
		address := avatarAddress(picture)
		avatar = &address
	}
	settings, err := c.settings()
	if err != nil {
		return mySettingsReply{}, err
	}
	setup, err := c.setup()
	u := c.user
	return mySettingsReply{
		profileReply{u.ID, u.Username, u.Email, u.EmailVerified, u.DisplayName, u.AvatarURL, avatar, u.DefaultPath,
			u.Locale, string(u.Role), u.CreatedAt},
		appearanceReply{u.Theme, u.AccentColor, u.EnableBlur},
		used,
		settings.TrashDays,
		string(setup),
	}, err
}

// setup returns how far the first run of the site is, which the web UI guides an administrator
// through: steps, checklist or done; "" for other accounts. The steps are due only while the site
// has no file and no other account, so that no site that was set up by the API begins with them.
func (c *call) setup() (site.Setup, error) {
	if c.user.Role != access.Admin {
		return "", nil
	}
	settings, err := c.settings()
	if err != nil || settings.Setup != site.SetupSteps {
		return settings.Setup, err
	}
	used, err := c.a.Lifecycle.InUse(c.ctx())
	if used {
		return site.SetupChecklist, err
	}
	return site.SetupSteps, err
}

type changeMySettingsInput struct {
	DisplayName nullable[string] `json:"displayName" maxLength:"100" description:"Null or empty for none."`
	AvatarURL   nullable[string] `json:"avatarUrl" maxLength:"1000" description:"An http or https address, or a path of this site. Null or empty for none."`
	Locale      *string          `json:"locale" enum:"zh-CN,en-US"`
	Theme       *string          `json:"theme" enum:"light,dark,system"`
	DefaultPath *string          `json:"defaultPath" description:"The folder that opens first; starts with a slash."`
	AccentColor *string          `json:"accentColor" pattern:"^#[0-9A-Fa-f]{6}$" description:"An addition."`
	EnableBlur  *bool            `json:"enableBlur" description:"An addition."`
}

// changeMySettings handles PUT /api/users/me/settings: it changes the given fields of the caller's
// profile and appearance.
func (a *API) changeMySettings(c *call, in changeMySettingsInput) (messageReply, error) {
	err := a.Accounts.ChangeProfile(c.ctx(), c.user.ID, account.Profile{
		DisplayName: account.TextChange{Given: in.DisplayName.isSet, Value: in.DisplayName.value},
		AvatarURL:   account.TextChange{Given: in.AvatarURL.isSet, Value: in.AvatarURL.value},
		Locale:      in.Locale, Theme: in.Theme, AccentColor: in.AccentColor, DefaultPath: in.DefaultPath,
		EnableBlur: in.EnableBlur,
	})
	return messageReply{"The settings are saved."}, err
}

type changeMyPasswordInput struct {
	OldPassword *string `json:"oldPassword" required:"true" minLength:"1" maxLength:"128"`
	NewPassword *string `json:"newPassword" required:"true" minLength:"8" maxLength:"128" description:"At most 512 bytes."`
}

// changeMyPassword handles PUT /api/users/me/password. It ends all sessions of the user, this one
// too, and clears the session cookie. Wrong present passwords are counted apart from sign-ins, so
// that strangers can't block an owner who is signed in. Faults: InvalidPassword, RateLimited,
// Invalid.
func (a *API) changeMyPassword(c *call, in changeMyPasswordInput) (messageReply, error) {
	err := c.limitPasswordAttempts([]string{"account:" + c.user.ID}, []string{"present:" + c.user.ID}, func() error {
		return a.Accounts.ChangePassword(c.ctx(), c.user, secret.Text(*in.OldPassword), secret.Text(*in.NewPassword))
	})
	if err != nil {
		return messageReply{}, err
	}
	http.SetCookie(c.w, a.sessionCookie("", -1))
	return messageReply{"The new password is set. Sign in with it."}, nil
}

type sendCodeInput struct {
	Email *string `json:"email" required:"true" description:"The new address; the address of another account is refused."`
}

type sendCodeReply struct {
	Success   bool  `json:"success" required:"true"`
	ExpiresIn int64 `json:"expiresIn" required:"true" description:"Seconds."`
}

// sendCode handles POST /api/users/me/email/send-otp: it mails a code to a new email address,
// which confirmCode takes. Faults: those of account.Service.SendCode.
func (a *API) sendCode(c *call, in sendCodeInput) (sendCodeReply, error) {
	err := a.Accounts.SendCode(c.ctx(), c.user.ID, *in.Email)
	return sendCodeReply{true, int64(account.CodeLifetime.Seconds())}, err
}

type confirmCodeInput struct {
	Email *string `json:"email" required:"true" description:"The address that the code was mailed to."`
	Code  *string `json:"code" required:"true" pattern:"^[0-9]{6}$"`
}

type confirmCodeReply struct {
	Success bool `json:"success" required:"true"`
}

// confirmCode handles POST /api/users/me/email/verify-otp: with the mailed code the new email
// address becomes the account's.
func (a *API) confirmCode(c *call, in confirmCodeInput) (confirmCodeReply, error) {
	return confirmCodeReply{true}, a.Accounts.ConfirmCode(c.ctx(), c.user.ID, *in.Email, *in.Code)
}

package account

import (
	"regexp"
	"unicode/utf8"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/mail"
	"larder/internal/secret"
	"larder/internal/vpath"
)

const (
	minPasswordRunes = 8
	maxPasswordRunes = 128
	maxPasswordBytes = 512
)

var usernamePattern = regexp.MustCompile(`^[A-Za-z0-9_]{3,20}$`)

// NewUser is an account to be made.
type NewUser struct {
	Username, Email string
	Password        secret.Text
	Role            access.Role
	EmailVerified   bool
	DefaultPath     string // "" for "/"
	HomeID          string // entry, "" for none
	Locale          string // "" for en-US
}

// Check judges everything that a person typed, before anything costly is done. Fault: Invalid.
func (n NewUser) Check() error {
	if err := n.checkIdentity(); err != nil {
		return err
	}
	return CheckPassword(n.Password)
}

// checkIdentity is Check without the password, which is a hash by the time of Insert.
func (n NewUser) checkIdentity() error {
	if !usernamePattern.MatchString(n.Username) {
		return fault.New(fault.Invalid, "A username has 3 to 20 characters: letters, digits and underscores.")
	}
	if err := CheckEmail(n.Email); err != nil {
		return err
	}
	switch n.Role {
	case access.Admin, access.User, access.Guest:
	default:
		return fault.New(fault.Invalid, "A role is admin, user or guest.")
	}
	switch n.Locale {
	case "", "zh-CN", "en-US":
	default:
		return fault.New(fault.Invalid, "A locale is zh-CN or en-US.")
	}
	if n.DefaultPath != "" {
		_, err := vpath.Parse(n.DefaultPath)
		return err
	}
	return nil
}

// CheckEmail takes what a mail can be sent to, see mail.CheckAddress. Fault: Invalid.
func CheckEmail(s string) error { return mail.CheckAddress(s) }

// CheckPassword judges the password of an account: 8 to 128 characters, at most
// 512 bytes. Fault: Invalid.
func CheckPassword(password secret.Text) error {
	if tooLong(password) || utf8.RuneCountInString(password.Reveal()) < minPasswordRunes {
		return fault.New(fault.Invalid, "A password has 8 to 128 characters and at most 512 bytes.")
	}
	return nil
}

// tooLong looks at the bytes first: counting the characters of a megabyte is work
// already (abuse case C107).
func tooLong(password secret.Text) bool {
	return len(password) > maxPasswordBytes || utf8.RuneCountInString(password.Reveal()) > maxPasswordRunes
}

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

// NewUser describes an account to create.
type NewUser struct {
	Username, Email string
	Password        secret.Text
	Role            access.Role
	EmailVerified   bool
	DefaultPath     string // "" for "/"
	HomeID          string // entry, "" for none
	Locale          string // "" for en-US
}

// Check checks name, address, role, locale, default path and password of a new account by their
// form alone, before any expensive work. Fault: Invalid.
func (n NewUser) Check() error {
	if err := n.checkIdentity(); err != nil {
		return err
	}
	return CheckPassword(n.Password)
}

// checkIdentity checks name, address, role, locale and default path of a new account, but not the
// password. Fault: Invalid.
func (n NewUser) checkIdentity() error {
	if !usernamePattern.MatchString(n.Username) {
		return fault.New(fault.Invalid, "A username has 3 to 20 characters: letters, digits and underscores.")
	}
	if err := CheckEmail(n.Email); err != nil {
		return fault.InField(err, "email")
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

// CheckEmail returns nil if mail can be sent to the address s, as far as its form tells (see
// mail.CheckAddress). Fault: Invalid.
func CheckEmail(s string) error { return mail.CheckAddress(s) }

// CheckPassword returns nil for a text that can be the password of an account: 8 to 128 characters,
// at most 512 bytes. Fault: Invalid.
func CheckPassword(password secret.Text) error {
	if tooLong(password) || utf8.RuneCountInString(password.Reveal()) < minPasswordRunes {
		return fault.New(fault.Invalid, "A password has 8 to 128 characters and at most 512 bytes.")
	}
	return nil
}

// tooLong reports whether a password has more than 128 characters or 512 bytes. It compares the
// bytes first, because counting the characters of a megabyte takes time (abuse case C107).
func tooLong(password secret.Text) bool {
	return len(password) > maxPasswordBytes || utf8.RuneCountInString(password.Reveal()) > maxPasswordRunes
}

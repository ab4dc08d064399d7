package account

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/secret"
	"larder/internal/vpath"
)

const (
	maxDisplayName = 100
	maxAvatar      = 1000
)

var accentPattern = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

// TextChange is a text to be set, or to be taken away by a Value of nil or "". The zero value
// leaves it as it is.
type TextChange struct {
	Given bool
	Value *string
}

// Profile is what people change about themselves. What is nil, or not given, stays.
type Profile struct {
	DisplayName, AvatarURL     TextChange
	Locale, Theme, AccentColor *string
	DefaultPath                *string // the folder that opens first, nothing more: home and rights stay
	EnableBlur                 *bool
}

// check judges and cleans what was given. Fault: Invalid.
func (p *Profile) check() (err error) {
	if p.DisplayName, err = cleanText(p.DisplayName, "displayName", maxDisplayName); err != nil {
		return err
	}
	if p.AvatarURL, err = cleanText(p.AvatarURL, "avatarUrl", maxAvatar); err != nil {
		return err
	}
	if p.AvatarURL.Value != nil && !isPictureURL(*p.AvatarURL.Value) {
		return fault.New(fault.Invalid,
			"avatarUrl is an http or https address, or a path of this site that begins with one slash.")
	}
	if p.Locale != nil && *p.Locale != "zh-CN" && *p.Locale != "en-US" {
		return fault.New(fault.Invalid, "A locale is zh-CN or en-US.")
	}
	if p.Theme != nil && *p.Theme != "light" && *p.Theme != "dark" && *p.Theme != "system" {
		return fault.New(fault.Invalid, "A theme is light, dark or system.")
	}
	if p.AccentColor != nil && !accentPattern.MatchString(*p.AccentColor) {
		return fault.New(fault.Invalid, "accentColor is a colour such as #1A2B3C.")
	}
	if p.DefaultPath != nil {
		path, err := vpath.Parse(*p.DefaultPath)
		if err != nil {
			return err
		}
		clean := path.String()
		p.DefaultPath = &clean
	}
	return nil
}

// cleanText puts a text in NFC and makes an empty one none. Fault: Invalid.
func cleanText(t TextChange, name string, most int) (TextChange, error) {
	if t.Value == nil {
		return t, nil
	}
	s := *t.Value
	// the former before the cost of normalising: NFC never shrinks a character by more
	if len(s) > 20*most || !utf8.ValidString(s) {
		return t, fault.Newf(fault.Invalid, "%s has at most %d characters of valid UTF-8.", name, most)
	}
	s = norm.NFC.String(s)
	switch {
	case utf8.RuneCountInString(s) > most:
		return t, fault.Newf(fault.Invalid, "%s has at most %d characters.", name, most)
	case strings.ContainsFunc(s, vpath.IsUnprintable):
		return t, fault.Newf(fault.Invalid, "%s must not contain control characters or text-direction overrides.", name)
	case strings.TrimSpace(s) == "":
		return TextChange{Given: true}, nil
	}
	return TextChange{Given: true, Value: &s}, nil
}

// isPictureURL reports addresses of the web and of this site; nothing here ever fetches one (abuse
// case C66). Browsers take a backslash for a slash, so that `/\host` would lead away.
func isPictureURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || strings.ContainsRune(s, '\\') || strings.ContainsFunc(s, unicode.IsSpace) {
		return false
	}
	if s[0] == '/' {
		return len(s) == 1 || s[1] != '/'
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Opaque == ""
}

// ChangeProfile changes what a user is shown as and shown. Faults: Invalid, SessionRevoked when the
// account has gone meanwhile.
func (s *Service) ChangeProfile(ctx context.Context, userID string, p Profile) error {
	if err := p.check(); err != nil {
		return err
	}
	if p == (Profile{}) {
		return nil
	}
	return s.db.Write(ctx, func(tx *db.Tx) error {
		err := updateProfile(tx, userID, p, s.now().UnixMilli())
		if fault.Is(err, fault.NotFound) {
			return sessionEnded()
		}
		return finishChange(tx, err)
	})
}

// ChangePassword gives a user, as a session knows them, another password and ends all sessions,
// that one included. Of two changes at once the second finds that its session has ended. Faults:
// Invalid, InvalidPassword for a wrong old one, SessionRevoked, RateLimited.
func (s *Service) ChangePassword(ctx context.Context, u User, old, fresh secret.Text) error {
	if err := CheckPassword(fresh); err != nil {
		return err
	}
	_, stored, err := readUser(s.db.Read(ctx), byID, u.ID)
	if fault.Is(err, fault.NotFound) {
		return sessionEnded()
	}
	if err != nil {
		return err
	}
	right, err := s.VerifyPassword(ctx, AccountSource(u.ID), stored, old)
	if err != nil {
		return fmt.Errorf("verify a password: %w", err)
	}
	if !right {
		return fault.New(fault.InvalidPassword, "The present password is wrong.")
	}
	passwordHash, err := s.HashPassword(ctx, AccountSource(u.ID), fresh)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *db.Tx) error {
		replaced, err := replacePassword(tx, u, stored, passwordHash, s.now().UnixMilli())
		if err != nil {
			return err
		}
		if !replaced {
			return sessionEnded()
		}
		return finishChange(tx, s.VoidResetsAndCodes(tx, u.ID))
	})
}

func sessionEnded() error {
	return fault.New(fault.SessionRevoked, "This session has ended. Sign in again.")
}

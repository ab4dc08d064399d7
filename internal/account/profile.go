package account

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"larder/internal/color"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/secret"
	"larder/internal/vpath"
)

const (
	maxDisplayName = 100
	maxAvatar      = 1000
)

// TextChange is a change of a text. Value is the new text; nil or "" removes the text. The zero
// value leaves the text as it is.
type TextChange struct {
	Given bool
	Value *string
}

// Profile holds the changes that users make to their own account. A field that is nil or not given
// is left as it is.
type Profile struct {
	DisplayName, AvatarURL     TextChange
	Locale, Theme, AccentColor *string
	DefaultPath                *string // the folder that the UI opens first; home and permissions stay as they are
	EnableBlur                 *bool
}

// check checks the given values and normalises them. Fault: Invalid.
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
	if p.AccentColor != nil && !color.Valid(*p.AccentColor) {
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

// cleanText puts a text in NFC and turns a blank one into none. name is its field in messages, most
// the largest number of characters. Fault: Invalid for a text that is too long or has control
// characters.
func cleanText(t TextChange, name string, most int) (TextChange, error) {
	if t.Value == nil {
		return t, nil
	}
	s := *t.Value
	// the length first, before the cost of normalising: NFC shrinks no character by more than this
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

// isPictureURL reports whether s is a web address or a path of this site, to which browsers may go
// for the picture of an account. The service never fetches it (abuse case C66). Browsers treat a
// backslash as a slash, so `/\host` would lead to another site.
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

// ChangeProfile changes the profile of a user. Faults: Invalid, SessionRevoked when the account was
// deleted meanwhile.
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

// ChangePassword replaces the password of the user of a session, old by fresh, and ends all
// sessions of the user, including that one. u is the user as the session knows it. Of two parallel
// changes the second fails with SessionRevoked. Faults: Invalid, InvalidPassword for a wrong old
// password, SessionRevoked, RateLimited.
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
		return fault.New(fault.InvalidPassword, "The current password is wrong.")
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
		return endByVersion(tx, u.ID, s.VoidResetsAndCodes(tx, u.ID))
	})
}

// sessionEnded returns the fault SessionRevoked, for a caller whose session or account has ended.
func sessionEnded() error {
	return fault.New(fault.SessionRevoked, "This session has ended. Sign in again.")
}

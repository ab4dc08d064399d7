package api

import (
	"context"
	"net/url"
	"slices"

	"larder/internal/access"
	"larder/internal/audit"
	"larder/internal/download"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/secret"
	"larder/internal/vpath"
)

type verifyPasswordInput struct {
	ID       string  `path:"id" json:"-"`
	Password *string `json:"password" required:"true" late:"true" maxLength:"128"`
	Purpose  *string `json:"purpose" enum:"download,preview" default:"download" description:"An addition, for files. preview: the address shows the file any number of times for 15 minutes."`
}

type unlockedReply struct {
	URL       string `json:"url" required:"true" description:"For a file its download address, for a folder the address of its listing."`
	ExpiresIn int64  `json:"expiresIn" required:"true" description:"Seconds."`
}

// verifyPassword handles POST /api/files/{id}/verify-password: it takes a password for the entry
// with an id. A right one unlocks the entry: the answer is a download address of a file, or for a
// folder a cookie. As for every endpoint, faults about the entry's existence and the caller's
// permission come before those about the password. Faults: InvalidPassword, PasswordRequired when
// another password is missing, RateLimited, Invalid, Forbidden, NotFound.
func (a *API) verifyPassword(c *call, in verifyPasswordInput) (unlockedReply, error) {
	if err := c.refuseKey(); err != nil {
		return unlockedReply{}, err
	}
	gate, err := a.Tree.PasswordGateOf(c.ctx(), c.actor, in.ID)
	switch {
	case err != nil:
		return unlockedReply{}, err
	case gate.Outcome == access.Denied:
		return unlockedReply{}, fault.New(fault.Forbidden, "You do not have the permission to do this here.")
	case valueOr(in.Password, "") == "":
		return unlockedReply{}, fault.New(fault.Invalid, "password is required.")
	case len(gate.Passwords) == 0:
		return unlockedReply{}, fault.New(fault.Invalid, "No password is required here.")
	}
	var given []string
	byAddress, everywhere := c.attemptTargets("entry:"+in.ID, gate.Passwords)
	err = c.limitPasswordAttempts(byAddress, everywhere, func() (err error) {
		given, err = c.matchPasswords(gate.Passwords, secret.Text(*in.Password))
		return err
	})
	if err == nil {
		err = c.countMissedPasswords(gate.Passwords, given)
	}
	c.auditWrongPassword(err, audit.Download, gate.Path)
	if err != nil {
		return unlockedReply{}, err
	}
	if gate, err = a.Tree.PasswordGateOf(c.ctx(), c.actorWith(given), in.ID); err != nil {
		return unlockedReply{}, err
	}
	if gate.Outcome == access.Denied {
		return unlockedReply{}, fault.New(fault.Forbidden, "You do not have the permission to do this here.")
	}
	return c.answerUnlocked(gate, given, in.Purpose)
}

type unlockInput struct {
	Path     *string `json:"path" required:"true"`
	Password *string `json:"password" required:"true" maxLength:"128"`
	Purpose  *string `json:"purpose" enum:"download,preview" default:"download"`
}

// unlock handles POST /api/public/unlock: it takes a password for the entry at a path, from any
// caller. Every other obstacle is answered like a wrong password, in the same words and after the
// same work, so that the answer reveals nothing about the path. Faults: InvalidPassword,
// PasswordRequired when another password is missing, RateLimited, Invalid, Forbidden for a key.
func (a *API) unlock(c *call, in unlockInput) (unlockedReply, error) {
	if err := c.refuseKey(); err != nil {
		return unlockedReply{}, err
	}
	path, err := vpath.Parse(*in.Path)
	if err != nil {
		return unlockedReply{}, err
	}
	if err := c.limitUnlocks(); err != nil {
		return unlockedReply{}, err
	}
	gate, err := a.Tree.PasswordGateAt(c.ctx(), c.actor, path)
	if err != nil {
		return unlockedReply{}, err
	}
	if gate.Outcome == access.Denied {
		gate.Passwords = nil // a denied path answers like a path without a password
	}
	var given []string
	byAddress, everywhere := c.attemptTargets("path:"+path.String(), gate.Passwords)
	err = c.limitPasswordAttempts(byAddress, everywhere, func() (err error) {
		if given, err = c.matchPasswords(gate.Passwords, secret.Text(*in.Password)); err != nil {
			return err
		}
		if err := c.countMissedPasswords(gate.Passwords, given); err != nil {
			return err
		}
		gate, err = a.Tree.PasswordGateAt(c.ctx(), c.actorWith(given), path)
		if err == nil && (gate.Outcome == access.Denied || gate.Outcome == access.Allowed && !gate.Exists) {
			return wrongPassword()
		}
		return err
	})
	c.auditWrongPassword(err, audit.Download, path)
	if err != nil {
		return unlockedReply{}, err
	}
	return c.answerUnlocked(gate, given, in.Purpose)
}

// unlocksPerMinute is the number of passwords that an address may try in a minute, for all paths
// together. Each costs a hash, and sign-ins wait for the same hashing.
const unlocksPerMinute = 60

// limitUnlocks counts a password that the client's address tries, and allows unlocksPerMinute of
// them, even if the request limit is switched off. Fault: RateLimited.
func (c *call) limitUnlocks() error {
	result, err := c.takeByAddress(c.ctx(), "unlock", unlocksPerMinute, 1)
	if err == nil && !result.Allowed {
		err = &fault.Error{Kind: fault.RateLimited, Message: "Too many passwords were tried. Please wait a moment.",
			RetryAfter: result.RetryAfter}
	}
	return err
}

// wrongPassword returns the fault InvalidPassword; its sentence is the same for a path that has no
// password.
func wrongPassword() error {
	return fault.New(fault.InvalidPassword, "The password is wrong, or none is required here.")
}

// refuseKey refuses requests with an API key where a password is submitted, which a key may not do.
// Fault: Forbidden.
func (c *call) refuseKey() error {
	if c.key != nil {
		return fault.New(fault.Forbidden, "API keys cannot submit passwords.")
	}
	return nil
}

// attemptTargets returns the names of the counts that a wrong password adds to, for
// limitPasswordAttempts. named is the entry or share that the request names, required are its
// passwords. Counts for the client's address are those of named and of each password, since many
// names can lead to one password. Counts for all addresses together are those of the passwords. A
// new password has a new id, and so a new count. A caller who may set a password has a separate
// count for it, which strangers can't use up.
func (c *call) attemptTargets(named string, required []files.RequiredPassword) (byAddress, everywhere []string) {
	byAddress = []string{named}
	for _, r := range required {
		target := "password:" + r.ID
		byAddress = append(byAddress, target)
		if r.Settable {
			target += ":" + c.user.ID
		}
		everywhere = append(everywhere, target)
	}
	return byAddress, everywhere
}

// countMissedPasswords counts a wrong answer for each required password whose id is not in given,
// if the caller may set all passwords in given. Without this, a right answer to a password of the
// caller's own would make guesses at the others free.
func (c *call) countMissedPasswords(required []files.RequiredPassword, given []string) error {
	var others []files.RequiredPassword
	for _, r := range required {
		switch matched := slices.Contains(given, r.ID); {
		case matched && !r.Settable:
			return nil
		case !matched && !r.Settable:
			others = append(others, r)
		}
	}
	ctx := context.WithoutCancel(c.ctx()) // a client that hangs up is counted, too
	_, everywhere := c.attemptTargets("", others)
	for _, target := range everywhere {
		if _, err := c.countAttempt(ctx, target, 1); err != nil {
			return err
		}
		if _, err := c.takeByAddress(ctx, "wrong "+target, maxWrongAnswers, 1); err != nil {
			return err
		}
	}
	return nil
}

// matchPasswords compares a password with the hashes of all that are required, and returns the ids
// of those that match. Without a required password it takes as long as for one. Fault:
// InvalidPassword when none matches.
func (c *call) matchPasswords(required []files.RequiredPassword, password secret.Text) (given []string, err error) {
	for _, r := range required {
		right, err := c.a.Accounts.VerifyPassword(c.ctx(), c.hashSource(), r.Hash, password)
		if err != nil {
			return nil, err
		}
		if right {
			given = append(given, r.ID)
		}
	}
	if len(required) == 0 {
		if _, err := c.a.Accounts.HashPassword(c.ctx(), c.hashSource(), password); err != nil &&
			!fault.Is(err, fault.Invalid) {
			return nil, err
		}
	}
	if len(given) == 0 {
		return nil, wrongPassword()
	}
	return given, nil
}

// actorWith returns the caller as an actor that has also given the passwords with those ids. It
// does not change c.actor.
func (c *call) actorWith(given []string) access.Actor {
	a := c.actor
	a.Unlocked = append(a.Unlocked[:len(a.Unlocked):len(a.Unlocked)], given...)
	return a
}

// answerUnlocked answers a caller who has just given passwords for the entry behind gate; given are
// their ids. For a file the answer is a download address, which purpose (download, also for nil, or
// preview) makes single-use or for display. For a folder it is a cookie and the address of its
// listing. If another password is required, it stores the given ones in the cookie and refuses.
// Fault: PasswordRequired.
func (c *call) answerUnlocked(gate files.PasswordGate, given []string, purpose *string) (unlockedReply, error) {
	seconds := int64(proofLifetime.Seconds())
	switch {
	case gate.Outcome != access.Allowed:
		c.addProofs(given)
		return unlockedReply{}, fault.New(fault.PasswordRequired,
			"This password is correct, but another password is also required.")
	case gate.Folder:
		c.addProofs(given)
		listing := "/api/files?path="
		if c.session == nil {
			listing = "/api/public/files?path="
		}
		return unlockedReply{c.url(listing + url.QueryEscape(gate.Path.String())), seconds}, nil
	}
	token, _, err := c.a.Downloads.Issue(c.ctx(), c.actorWith(given), c.session, gate.ID,
		download.Purpose(valueOr(purpose, string(download.Save))))
	if err != nil {
		return unlockedReply{}, err
	}
	return unlockedReply{c.url("/api/gateway/download/" + token), seconds}, nil
}

package api

import (
	"io"

	"larder/internal/db"
	"larder/internal/fault"
)

// recheckedBody is a request body that checks the credential again at its end. A big file takes
// hours to upload, and an administrator who revokes a key or bans its owner in the meantime means
// to stop this upload too (abuse case C31). The permissions in the target folder are checked again
// when the file is created.
type recheckedBody struct {
	io.Reader
	call *call
}

// Read implements io.Reader. Faults at the end of the body: those of a key that is no longer valid,
// Forbidden when its rights have changed, Internal when the database does not answer.
func (b *recheckedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		if refusal := b.call.recheckCredential(); refusal != nil {
			err = fault.AsFault(refusal)
		}
	}
	return n, err
}

// recheckCredential identifies the caller again if the config version has risen since the request
// began. Faults: those of identify for a credential that is no longer valid, Forbidden when its
// rights have changed.
func (c *call) recheckCredential() error {
	version, err := db.ConfigVersion(c.a.DB.Read(c.ctx()))
	if err != nil || version == c.version {
		return err
	}
	now := &call{a: c.a, w: c.w, r: c.r, route: c.route, ip: c.ip, ipText: c.ipText}
	if err := now.identify(); err != nil {
		return err
	}
	was, is := c.actor, now.actor
	if was.UserID != is.UserID || was.Role != is.Role || was.HomeID != is.HomeID || *was.Key != *is.Key {
		return fault.New(fault.Forbidden, "The rights of this key changed during the upload. Send the file again.")
	}
	return nil
}

package api

import (
	"io"

	"larder/internal/db"
	"larder/internal/fault"
)

// recheckCredential is a body that ends well only when the key that it came with still counts by
// then, for what it did at first. A big file takes hours to come in, and whoever revokes a key or
// bans its owner in the meantime means this upload too (abuse case C31). What the key may do where
// the file goes is asked again when the file is made.
type recheckedBody struct {
	io.Reader
	call *call
}

// CountRead implements io.Reader. Faults at the end of the body: those of a key that does not
// count, Forbidden when its rights have changed.
func (s *recheckedBody) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err == io.EOF {
		if refusal := s.call.recheckCredential(); refusal != nil {
			err = refusal
		}
	}
	return n, err
}

func (c *call) recheckCredential() error {
	version, err := db.ConfigVersion(c.a.DB.Read(c.ctx()))
	if err != nil || version == c.version {
		return err
	}
	now := &call{a: c.a, w: c.w, r: c.r, route: c.route, ip: c.ip}
	if err := now.identify(); err != nil {
		return err
	}
	was, is := c.actor, now.actor
	if was.UserID != is.UserID || was.Role != is.Role || was.HomeID != is.HomeID || *was.Key != *is.Key {
		return fault.New(fault.Forbidden, "The rights of this key changed during the upload. Send the file again.")
	}
	return nil
}

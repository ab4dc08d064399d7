package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"larder/internal/account"
	"larder/internal/blob"
	"larder/internal/concurrency"
	"larder/internal/fault"
	"larder/internal/files"
)

const (
	maxAvatarBody = 5 << 20 // bytes of an uploaded picture
	avatarEdge    = 256     // longest edge of the stored picture in pixels
	// pictures that are received at a time; each has a file on the disk until it is complete
	maxAvatarUploads        = 64
	maxAvatarUploadsPerUser = 2
	avatarRetry             = 5 * time.Second
)

type avatarReply struct {
	Avatar string `json:"avatar" required:"true" description:"The address of the picture, a path of this site. Another picture has another address."`
}

// avatarAddress returns the path of this site that shows the uploaded picture with that id.
func avatarAddress(id string) string { return "/api/public/avatars/" + id }

// putAvatar handles PUT /api/users/me/avatar: it makes the picture in the body the caller's. The
// child process of thumbnails decodes it; the service stores only the output of that process,
// without metadata (abuse case C104). Faults: Invalid for a body that is no picture, Conflict when
// thumbnails are switched off, RateLimited, and those of spoolAvatar.
func (a *API) putAvatar(c *call) error {
	if a.Thumbs == nil {
		return fault.New(fault.Conflict, "This server does not decode pictures: thumbnails are switched off.")
	}
	release, err := a.avatarLimit.TryAcquire(concurrency.Source{Name: c.user.ID, Max: maxAvatarUploadsPerUser})
	if full := new(concurrency.LimitError); errors.As(err, &full) {
		return &fault.Error{Kind: fault.RateLimited, RetryAfter: avatarRetry,
			Message: "Too many pictures are being uploaded. Please wait a moment."}
	}
	defer release()
	file, err := c.spoolAvatar()
	if err != nil {
		return err
	}
	defer file.Close() // the file has no name: closing it frees its space
	content, mimeType, err := a.Thumbs.Make(c.ctx(), c.limitKey(""), file, avatarEdge)
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.Invalid, "The body is not a picture that this server can decode.").WithCause(err)
	}
	if err != nil {
		return err
	}
	id, err := a.Accounts.SetAvatar(c.ctx(), c.user.ID, account.Avatar{MediaType: mimeType, Content: content})
	if err != nil {
		return err
	}
	c.answer(200, avatarReply{avatarAddress(id)})
	return nil
}

// spoolAvatar reads the body, at most maxAvatarBody bytes, into an unnamed temporary file and
// rewinds it. The caller closes the file. Faults: Invalid for an empty body, TooLarge, Unverified
// for a body that ends early, Unavailable when the disk is nearly full.
func (c *call) spoolAvatar() (*os.File, error) {
	if err := c.a.CheckSpoolSpace(); err != nil {
		return nil, err
	}
	file, err := c.a.OpenSpoolFile()
	if err != nil {
		return nil, fmt.Errorf("receive a picture: %w", err)
	}
	size, err := io.Copy(file, io.LimitReader(c.r.Body, maxAvatarBody+1))
	switch {
	case err != nil:
		err = bodyError(err)
	case size > maxAvatarBody:
		err = fault.New(fault.TooLarge, "A picture of an account has at most 5 MiB.")
	case size == 0:
		err = fault.New(fault.Invalid, "The body is empty.")
	default:
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// removeAvatar handles DELETE /api/users/me/avatar; it succeeds without a picture, too.
func (a *API) removeAvatar(c *call, _ struct{}) (none, error) {
	return none{}, a.Accounts.RemoveAvatar(c.ctx(), c.user.ID)
}

// avatarsOf returns the addresses of the uploaded pictures of the accounts in some rows, by the ids
// of the accounts. It ignores rows without an account ("") and accounts without a picture.
func avatarsOf[Row any](c *call, rows []Row, userID func(Row) string) (map[string]*string, error) {
	userIDs := make([]string, len(rows))
	for i, r := range rows {
		userIDs[i] = userID(r)
	}
	slices.Sort(userIDs)
	ids, err := c.a.Accounts.AvatarIDs(c.ctx(), slices.Compact(userIDs))
	addresses := map[string]*string{}
	for userID, id := range ids {
		address := avatarAddress(id)
		addresses[userID] = &address
	}
	return addresses, err
}

type avatarInput struct {
	ID string `path:"id" json:"-"`
}

// avatar handles GET /api/public/avatars/{id}: it shows the picture of an account to everyone who
// has its address.
func (a *API) avatar(c *call) error {
	found, err := a.Accounts.Avatar(c.ctx(), c.r.PathValue("id"))
	if err != nil {
		return err
	}
	return c.serveBytes(servedContent{"avatar", found.MediaType, `"` + c.r.PathValue("id") + `"`,
		int64(len(found.Content)), time.Time{}, avatarSource{found.Content}}, serveOptions{immutable: true})
}

// avatarSource is a picture as a contentSource.
type avatarSource struct{ content []byte }

// Check implements contentSource.
func (s avatarSource) Check(context.Context) error { return nil }

// RedirectAddress implements contentSource; no store has the picture.
func (s avatarSource) RedirectAddress(context.Context, files.RedirectTerms) (string, error) {
	return "", nil
}

// OpenRange implements contentSource. The result reads on to the end of the picture; the caller
// stops after its length.
func (s avatarSource) OpenRange(_ context.Context, first, _ int64) (blob.Object, error) {
	object := blob.NewInMemory(s.content)
	_, err := object.Seek(first, io.SeekStart)
	return object, err
}

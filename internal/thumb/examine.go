package thumb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"larder/internal/fault"
	"larder/internal/thumb/picture"
)

const (
	// examineLane is the lane of the queue in which Examine waits.
	examineLane = "examine"
	// hashedEdge is the edge, in pixels, of the thumbnail that a ThumbHash is made from.
	hashedEdge = 320
	// maxDescription is the maximal length of a description in bytes.
	maxDescription = 128
)

// Properties are the properties of a picture.
type Properties struct {
	picture.Description
	ThumbHash []byte // nil if the picture has no thumbnail, or only its first bytes were read
}

// Examine returns the properties of a picture. Children read them, as they make thumbnails, but
// give way to other processes; the caller makes sure that one call runs at a time. If whole is
// true, from has all bytes of the picture, and Examine also makes a thumbnail of it, which stays in
// the cache; otherwise from has only the first bytes, and there is no ThumbHash. Faults: those of
// Get. Other errors: picture.ErrUnconfined, ErrStarved, ErrChildDied, and those of the disk and
// of the start of a process.
func (m *Maker) Examine(ctx context.Context, from Source, whole bool) (Properties, error) {
	ctx, end, err := m.begin(ctx)
	if err != nil {
		return Properties{}, err
	}
	defer end()
	from.priority = background
	var p Properties
	if p.Description, err = m.describe(ctx, from); err != nil || !whole {
		return p, err
	}
	t, err := m.Get(ctx, examineLane, from, hashedEdge)
	if fault.Is(err, fault.NotFound) {
		return p, nil
	}
	if err != nil {
		return Properties{}, err
	}
	defer t.Close()
	p.ThumbHash, err = m.inspect(ctx, background, picture.HashArg, t.File(), picture.MaxHash)
	if fault.Is(err, fault.NotFound) {
		return p, nil
	}
	return p, err
}

// describe returns what the header and the metadata of a picture state. Faults: those of Get.
func (m *Maker) describe(ctx context.Context, from Source) (picture.Description, error) {
	if err := m.enter(ctx, examineLane); err != nil {
		return picture.Description{}, err
	}
	defer m.queue.leave()
	in, closeIn, err := m.fetch(ctx, from)
	if err != nil {
		return picture.Description{}, err
	}
	defer closeIn()
	text, err := m.inspect(ctx, background, picture.DescribeArg, in, maxDescription)
	if err != nil {
		return picture.Description{}, err
	}
	d, err := picture.ParseDescription(string(text))
	if err != nil {
		return picture.Description{}, noThumbnail(err)
	}
	return d, nil
}

// Camera reads the camera, the exposure and the coordinates from the EXIF fields of a picture. who
// is the account or address in whose lane of the queue the request waits. from may contain only the
// first bytes of the picture. Faults: those of Get. Error: picture.ErrUnconfined.
func (m *Maker) Camera(ctx context.Context, who string, from Source) (picture.Camera, error) {
	ctx, end, err := m.begin(ctx)
	if err != nil {
		return picture.Camera{}, err
	}
	defer end()
	if err := m.enter(ctx, who); err != nil {
		return picture.Camera{}, err
	}
	defer m.queue.leave()
	in, closeIn, err := m.fetch(ctx, from)
	if err != nil {
		return picture.Camera{}, err
	}
	defer closeIn()
	text, err := m.inspect(ctx, foreground, picture.CameraArg, in, picture.MaxCamera)
	if err != nil {
		return picture.Camera{}, err
	}
	camera, err := picture.ParseCamera(text)
	if err != nil {
		return picture.Camera{}, noThumbnail(err)
	}
	return camera, nil
}

// ErrChildDied means that a child was killed or crashed while it examined a picture. Another try
// may succeed.
var ErrChildDied = errors.New("a child that examines a picture has died")

// inspect runs a child with a priority and the argument arg on a picture, and returns its output,
// at most most bytes. Faults: NotFound when the child fails because of the picture; RateLimited,
// see timeoutError.
func (m *Maker) inspect(ctx context.Context, p priority, arg string, in *os.File, most int) ([]byte, error) {
	free, err := m.enterSlot(ctx, p)
	if err != nil {
		return nil, err
	}
	defer free()
	out, err := m.Spool()
	if err != nil {
		return nil, fmt.Errorf("examine a picture: %w", err)
	}
	defer out.Close() // the file has no name: closing it frees its space
	patient, cancel := context.WithTimeout(ctx, m.childTimeout(p))
	defer cancel()
	used, err := runChild(patient, p, m.Child, []string{picture.Command, arg}, in, out)
	var ended *exec.ExitError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case patient.Err() != nil:
		return nil, m.timeoutError(p, used, err)
	case errors.As(err, &ended) && ended.ExitCode() == picture.Unconfined:
		return nil, fmt.Errorf("examine a picture: %w: %w", picture.ErrUnconfined, err)
	case errors.As(err, &ended) && ended.ExitCode() == 1: // what the command ends with after an error
		return nil, noThumbnail(err)
	case errors.As(err, &ended):
		return nil, fmt.Errorf("examine a picture: %w: %w", ErrChildDied, err)
	default:
		return nil, fmt.Errorf("examine a picture: %w", err)
	}
	text := make([]byte, most+1)
	n, err := out.ReadAt(text, 0)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("examine a picture: %w", err)
	}
	if n > most {
		return nil, noThumbnail(errors.New("the output of the child is too long"))
	}
	return text[:n], nil
}

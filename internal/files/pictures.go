package files

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"larder/internal/access"
	"larder/internal/blob"
	"larder/internal/db"
)

// pictureHead is the number of bytes that are read of a picture in a bucket, whose vendor charges
// for each byte: header and metadata.
const pictureHead = 1 << 20

// pictureSweepPage is the number of contents that one call of SweepPictures looks at.
const pictureSweepPage = 10_000

// UnexaminedPicture is a file whose type says that it is a picture, and whose properties were not
// read yet.
type UnexaminedPicture struct {
	Position ExaminePosition
	Size     int64  // bytes
	Provider string // id
	Content  string // id
	Known    bool   // the properties of this content are recorded

	object string
	key    blob.Key
}

// ExaminePosition is a position in the list of Unexamined.
type ExaminePosition struct {
	created int64 // ms
	id      string
}

// FirstExaminePosition is before all pictures.
var FirstExaminePosition = ExaminePosition{created: math.MaxInt64}

// Unexamined lists pictures whose properties have not been read, the newest first, after a
// position; at most limit. It returns none while the index for it is being built.
func (t *Tree) Unexamined(ctx context.Context, after ExaminePosition, limit int) ([]UnexaminedPicture, error) {
	if ready, err := t.DB.HasUnexamined(ctx); err != nil || !ready {
		return nil, err
	}
	return unexaminedAfter(ctx, t.DB, after, limit)
}

// PictureSource returns a function that opens a picture to examine it. Its calls must not be
// concurrent. It fetches a picture of at most pictureHead bytes from a bucket only once and keeps
// it in memory, because most vendors charge for reads. whole is false if the object contains only
// the first bytes of the picture, because the picture is in a bucket and larger than pictureHead.
// Fault of open: Unavailable. open also returns errors of reads from the bucket.
func (t *Tree) PictureSource(ctx context.Context, p UnexaminedPicture) (
	open func(ctx context.Context) (blob.Object, error), whole bool, err error) {
	h := &ContentHandle{tree: t, provider: p.Provider, key: p.key, size: p.Size}
	store, err := t.Providers.Store(ctx, p.Provider)
	if err != nil {
		return nil, false, err
	}
	openWhole := func(ctx context.Context) (blob.Object, error) { return h.openExamined(ctx, store) }
	ranger, ok := store.(blob.RangeOpener)
	switch {
	case !ok:
		return openWhole, true, nil
	case p.Size <= pictureHead:
		return openOnce(openWhole), true, nil
	}
	return func(ctx context.Context) (blob.Object, error) {
		o, err := ranger.OpenRange(ctx, p.key, p.Size, 0, pictureHead)
		if err != nil {
			return nil, h.storeFault(err)
		}
		return headObject{o, io.LimitReader(o, pictureHead)}, nil
	}, false, nil
}

// openExamined opens the whole content in its recorded size. Fault: Unavailable.
func (h *ContentHandle) openExamined(ctx context.Context, store blob.Store) (blob.Object, error) {
	o, err := store.Open(ctx, h.key)
	if err != nil {
		return nil, h.storeFault(err)
	}
	if o.Size() != h.size {
		o.Close() // opened for reading: nothing is lost
		return nil, h.sizeMismatch(o.Size())
	}
	return o, nil
}

// openOnce returns a function that calls open and reads the object into memory at its first call.
// Each call opens the copy in memory. After an error, the next call of the function calls open
// again.
func openOnce(open func(ctx context.Context) (blob.Object, error)) func(ctx context.Context) (blob.Object, error) {
	var content []byte
	return func(ctx context.Context) (blob.Object, error) {
		if content == nil {
			o, err := open(ctx)
			if err != nil {
				return nil, err
			}
			defer o.Close() // opened for reading: nothing is lost
			read := make([]byte, o.Size())
			if _, err := io.ReadFull(o, read); err != nil {
				return nil, fmt.Errorf("read a picture: %w", err)
			}
			content = read
		}
		return blob.NewInMemory(content), nil
	}
}

// headObject is the first bytes of an object.
type headObject struct {
	blob.Object
	head io.Reader
}

// Read implements io.Reader.
func (o headObject) Read(p []byte) (int, error) { return o.head.Read(p) }

// OpenPictureHead opens a picture so that its header and its metadata can be read: the whole file
// if it is on the local disk, or else its first pictureHead bytes. Faults: those of Open.
func (c Content) OpenPictureHead(ctx context.Context) (blob.Object, error) {
	o, err := c.OpenRange(ctx, 0, min(c.size, pictureHead))
	if err != nil {
		return nil, err
	}
	if _, local := o.(blob.FileBacked); local {
		return o, nil
	}
	return headObject{o, io.LimitReader(o, pictureHead)}, nil
}

// ExaminedPicture is a picture whose properties were read. Picture is nil if it cannot be read.
type ExaminedPicture struct {
	UnexaminedPicture
	Picture *Picture
}

// RecordExamined records the properties of pictures in one transaction. A file that has another
// object by now is still to be examined, because the record names the examined object.
func (t *Tree) RecordExamined(ctx context.Context, examined []ExaminedPicture) error {
	return t.DB.Write(ctx, func(tx *db.Tx) error {
		for _, p := range examined {
			if !p.Known {
				if err := insertPicture(tx, p.Content, p.Picture); err != nil {
					return err
				}
			}
			if err := setExamined(tx, p.Position.id, p.object, p.Content); err != nil {
				return err
			}
		}
		return nil
	})
}

// SweepPictures deletes the properties of contents that no object has any more, among the next
// pictureSweepPage after a content id. It returns the id after which the next call continues, ""
// for the beginning.
func (t *Tree) SweepPictures(ctx context.Context, after string) (next string, err error) {
	ids, err := picturesAfter(t.DB.Read(ctx), after, pictureSweepPage)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	existing, err := t.Objects.ExistingContents(ctx, ids)
	if err != nil {
		return "", fmt.Errorf("sweep the properties of pictures: %w", err)
	}
	var gone []string
	for _, id := range ids {
		if !existing[id] {
			gone = append(gone, id)
		}
	}
	next = ids[len(ids)-1]
	if len(gone) == 0 {
		return next, nil
	}
	return next, t.DB.Write(ctx, func(tx *db.Tx) error { return deletePictures(tx, gone) })
}

// addPictures sets Picture of those entries that have an examined picture and that the actor may
// download: the properties show some of the content.
func (t *Tree) addPictures(ctx context.Context, entries []Entry) error {
	var objects []string
	var pictures []*Entry
	for i := range entries {
		if e := &entries[i]; strings.HasPrefix(e.MimeType, "image/") && e.Permissions.Has(access.Download) {
			objects, pictures = append(objects, e.object), append(pictures, e)
		}
	}
	found, err := picturesOf(t.DB.Read(ctx), objects)
	if err != nil {
		return err
	}
	for _, e := range pictures {
		e.Picture = found[e.object]
	}
	return nil
}

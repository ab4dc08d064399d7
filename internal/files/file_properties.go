package files

import (
	"context"

	"larder/internal/object"
)

// FileProperties are further properties of a file, for its details.
type FileProperties struct {
	Owner  string // the name of the account that the file counts for; "" if that account is deleted
	SHA256 string // hexadecimal; "" while it is not known
}

// FileProperties returns further properties of a file that the caller may download. Fault:
// NotFound.
func (t *Tree) FileProperties(ctx context.Context, c Content) (p FileProperties, err error) {
	q := t.DB.Read(ctx)
	if p.Owner, err = ownerName(q, c.Entry.ID); err != nil {
		return FileProperties{}, err
	}
	p.SHA256, err = object.SHA256(q, c.Entry.object)
	return p, err
}

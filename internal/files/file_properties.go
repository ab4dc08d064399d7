package files

import "context"

// FileProperties are further properties of a file, for its details.
type FileProperties struct {
	Owner  string // the name of the account that the file counts for; "" if that account is deleted
	SHA256 string // hexadecimal; "" while it is not known
}

// FileProperties returns further properties of a file that the caller may download. Fault:
// NotFound.
func (t *Tree) FileProperties(ctx context.Context, c Content) (FileProperties, error) {
	return filePropertiesOf(t.DB.Read(ctx), c.Entry.ID)
}

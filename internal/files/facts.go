package files

import "context"

// Facts are further properties of a file, for its details.
type Facts struct {
	Owner  string // the name of the account that the file counts for; "" if that account is deleted
	SHA256 string // hexadecimal; "" while it is not known
}

// Facts returns further properties of a file that the caller may download. Fault: NotFound.
func (t *Tree) Facts(ctx context.Context, c Content) (Facts, error) {
	return factsOf(t.DB.Read(ctx), c.Entry.ID)
}

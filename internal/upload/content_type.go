package upload

import "larder/internal/vpath"

// TypeOf is the MIME type of a file called name: what its client claims (claimed, may be invalid),
// else that of its extension, "" when neither tells a type. Free mode uses it, which never looks at
// the bytes.
func TypeOf(name vpath.Name, claimed string) string { return typeBeforeBytes(name, cleanType(claimed)) }

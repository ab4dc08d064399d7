package upload

import "larder/internal/vpath"

// TypeOf is the type of a file: what its client claims, else by its extension, "" when neither says
// anything.
func TypeOf(name vpath.Name, claimed string) string { return typeBeforeBytes(name, cleanType(claimed)) }

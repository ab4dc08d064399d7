package upload

import "larder/internal/vpath"

// TypeOf is the type of a file by what its client calls it, else by what its name ends in, ""
// when neither says anything.
func TypeOf(name vpath.Name, claimed string) string { return typeBeforeBytes(name, cleanType(claimed)) }

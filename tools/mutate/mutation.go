package main

import (
	"fmt"
	"strings"
)

// mutation describes a guard and how to remove it.
type mutation struct {
	name  string // for selection; related guards have a common prefix
	guard string // description of the guard
	file  string // from the top of the tree
	old   string // text that occurs in the file exactly once
	new   string // the replacement without the guard, which must compile if the file is Go
	pkg   string // package whose test must fail then
	test  string // pattern for go test -run
}

// apply returns the text of the file without the guard. Error: the text to be replaced does not
// occur exactly once.
func (m mutation) apply(text string) (string, error) {
	if n := strings.Count(text, m.old); n != 1 {
		return "", fmt.Errorf("%s: the text is in %s %d times: %s", m.name, m.file, n, m.old)
	}
	return strings.Replace(text, m.old, m.new, 1), nil
}

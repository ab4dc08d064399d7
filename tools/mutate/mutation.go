package main

import (
	"fmt"
	"strings"
)

// mutation is one guard, and how to take it away.
type mutation struct {
	name  string // to be asked for by; those of one kind begin alike
	guard string // what is taken away, in words
	file  string // from the top of the tree
	old   string // a text that is in the file exactly once
	new   string // what stands there without the guard: something that compiles
	pkg   string // whose test must fail then
	test  string // as go test -run takes it
}

// apply returns text without the guard.
func (m mutation) apply(text string) (string, error) {
	if n := strings.Count(text, m.old); n != 1 {
		return "", fmt.Errorf("%s: the text is in %s %d times: %s", m.name, m.file, n, m.old)
	}
	return strings.Replace(text, m.old, m.new, 1), nil
}

// Package color checks the colours that accounts, files and the site have.
package color

import "regexp"

var pattern = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

// Valid reports whether s is a colour as #RRGGBB, in hexadecimal digits of either case.
func Valid(s string) bool { return pattern.MatchString(s) }

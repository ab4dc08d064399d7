//go:build !linux

package picture

import (
	"errors"
	"os"
)

var errNotLinux = errors.New("the process that decodes pictures is confined by calls of Linux alone")

// confine fails, so that Main returns ErrUnconfined before it reads anything: only Linux has
// thumbnails.
func confine(string) (listener int, err error) { return 0, errNotLinux }

// execVips is never reached, since confine fails before.
func execVips(string, int, kind, bool, *os.File, int) error { return errNotLinux }

// Landlock fails: it is a part of Linux.
func Landlock() (version int, err error) { return 0, errNotLinux }

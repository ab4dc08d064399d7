// Package web holds the web UI: a single page written in TypeScript and Svelte below src, built by
// Vite into dist, embedded here. Package api serves it.
package web

import (
	"embed"
	"io/fs"
)

// dist holds nothing but its own name until the web UI has been built (scripts/web).
//
//go:embed all:dist
var dist embed.FS

// Dist is the built page: index.html, and below assets files whose names hold a hash of their
// content, with compressed copies (.br, .gz) beside those that get smaller. It holds no index.html
// in a binary that was built without the web UI.
func Dist() fs.FS {
	below, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is a constant
	}
	return below
}

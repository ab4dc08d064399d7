package apptest

import (
	"strings"
	"testing/fstest"
)

// PageEnd ends the page of UI, and makes it long enough to be compressed.
var PageEnd = "<!--" + strings.Repeat(" end", 300) + " -->"

// UI replaces the web UI, which need not be built for tests: a page with placeholders for the nonce
// and for a failure, the page of shares with one more for its head, a script in every encoding, a
// style sheet in one, a service worker and a manifest.
var UI = fstest.MapFS{
	"index.html": {Data: []byte(
		`<!doctype html><html lang="en" data-failure="" data-accent=""><title>Larder</title><script nonce="LARDER-NONCE" src="/app/assets/index-0a1b.js"></script></html>` + PageEnd)},
	"share.html": {Data: []byte(
		`<!doctype html><html lang="en" data-failure="" data-accent=""><head><!-- head --></head><body>` +
			`<script nonce="LARDER-NONCE" src="/app/assets/index-0a1b.js"></script></body></html>`)},
	"sw.js":                   {Data: []byte("self.addEventListener('fetch', () => {})")},
	"manifest.webmanifest":    {Data: []byte(`{"id":"/app/","scope":"/app/","icons":[{"src":"/app/assets/icon.png"}]}`)},
	"assets/index-0a1b.js":    {Data: []byte("console.log('plain')")},
	"assets/index-0a1b.js.br": {Data: []byte("as brotli")},
	"assets/index-0a1b.js.gz": {Data: []byte("as gzip")},
	"assets/index-2c3d.css":   {Data: []byte("body{}")},
}

package main

// installGuards are the guards of the installed web UI.
var installGuards = []mutation{
	{"install-body", "a server without the service worker reads no byte of received files (C134)",
		api + "/ui_install.go", `h.Set("Location", "/app/files")`,
		`_ = c.r.ParseMultipartForm(1 << 20); h.Set("Location", "/app/files")`, api,
		"^TestShareTargetReadsNoBody$"},
	{"install-early", "the answer does not wait for a part of the body (C134)", api + "/api.go",
		`if escaped == shareTargetPath && c.r.Method == http.MethodPost {`, `if false {`, api,
		"^TestShareTargetReadsNoBody$"},
	{"install-methods", "the target of received files knows no other method", api + "/ui_install.go",
		`case http.MethodPost:`, `default:`, api, "^TestShareTargetReadsNoBody$"},
	{"install-policy", "only the page of the web UI may register a worker", api + "/ui.go",
		`if page == c.a.ui.index {`, `if page != "" {`, api, "^TestOnlyTheShellAllowsTheWorker$"},
	{"install-fresh", "browsers ask for the service worker at each use", api + "/ui_install.go",
		`h.Set("Cache-Control", "no-cache")`, `h.Set("Cache-Control", "max-age=86400")`, api, "^TestServiceWorker$"},
	{"install-worker-policy", "the service worker reaches this site alone", api + "/ui_install.go",
		`connect-src 'self'"`, `connect-src *"`, api, "^TestServiceWorker$"},
}

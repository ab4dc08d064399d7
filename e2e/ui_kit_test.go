package e2e

import (
	"bytes"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// kitMark is a text of web/kit/texts.ts.
const kitMark = "界面组件"

// testUIKit tests the page of the UI kit, built as the product is and served under its policy: each
// component in each language and theme, on desks and phones, by axe, and by the keyboard alone
// (browser/ui/kit.mjs). The product contains nothing of that page.
func testUIKit(t *testing.T) {
	dist := t.TempDir()
	build := exec.Command("node_modules/.bin/vite", "build", "--mode", "kit", "--outDir", dist, "--logLevel", "error")
	build.Dir = "../web"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("vite build: %v\n%s", err, out)
	}
	if marked(t, dist) == "" {
		t.Errorf("the page of the kit does not contain %q: the test below could not fail", kitMark)
	}
	product := "../web/dist"
	if _, err := os.Stat(filepath.Join(product, "index.html")); err != nil {
		t.Fatalf("the web UI is not built: %v", err)
	}
	if file := marked(t, product); file != "" {
		t.Errorf("%s contains a text of the kit's page", file)
	}
	files := http.StripPrefix("/app/", http.FileServer(http.Dir(dist)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; script-src 'nonce-LARDER-NONCE'; "+
			"style-src 'self'; object-src 'none'; base-uri 'none'")
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	runBrowser(t, object{"base": server.URL, "suite": "kit"}, nil)
}

// marked returns the first file below a directory that contains kitMark, "" for none.
func marked(t *testing.T, dir string) string {
	t.Helper()
	found := ""
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || found != "" {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(kitMark)) {
			found = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

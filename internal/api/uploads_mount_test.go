package api_test

import (
	"testing"

	"larder/internal/apptest"
)

// An upload whose name belongs to a mount gets a number. A key that may write in the mount alone
// may not store a file beside it, and is told so before it sends the bytes.
func TestUploadNumberedBesideAMountNeedsWrite(t *testing.T) {
	t.Parallel()
	apptest.Each(t, func(t *testing.T, l *apptest.Larder) {
		addVaultMount(t, l)
		wish := M{"path": "/", "fileName": "vault", "fileSize": 1, "conflict": "rename"}
		l.Admin(t).Key(M{"uploadPath": "/vault"}).Post("/api/files/upload-session", wish).Fails(403, "FORBIDDEN")
		l.Admin(t).Key(M{"uploadPath": "/"}).Post("/api/files/upload-session", wish).OK(200)
	})
}

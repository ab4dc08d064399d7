package api_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/internal/api"
	"larder/internal/apptest"
	"larder/internal/blob/s3/s3test"
	"larder/internal/site"
	"larder/internal/thumb/thumbtest"
)

// The credentials that a route accepts (specification: Authentication, rule 5).
const (
	noAuth           = "public"        // credentials are ignored
	optionalAuth     = "anyone"        // public; a credential in the request counts
	sessionAuth      = "session"       // the login cookie
	sessionOrKeyAuth = "session, key"  // the login cookie or a key with protocol api
	adminAuth        = "administrator" // the login cookie of an administrator
	freeModeAuth     = "free session"  // the cookie of a free-mode session
	uploadKeyAuth    = "upload key"    // a key with protocol api and the permission write
)

// principals are the columns of the matrix, in this order.
var principals = []string{
	"anonymous", "owner", "another user", "administrator", "guest account", "key read", "key write", "key delete",
	"key webdav", "revoked key", "expired key", "disabled owner's key", "disabled account", "free mode",
}

// routeRow is a row of the matrix: the status of each principal for a request about an item that
// `owner` owns.
type routeRow struct {
	method, pattern string
	auth            string
	request         func(o ownedItems) (path string, body any)
	statuses        string // a status for each principal
	addition        bool   // not named by the specification
}

func fixedRequest(path string, body any) func(ownedItems) (string, any) {
	return func(ownedItems) (string, any) { return path, body }
}

// formRequest returns a multipart upload into the key's root.
func formRequest(path string) func(ownedItems) (string, any) {
	return fixedRequest(path, formBody{})
}

// formBody stands for a form with a file.
type formBody struct{}

const (
	statusesForAll         = "200 200 200 200 200 200 200 200 200 200 200 200 200 200"
	statusesForSessions    = "401 200 200 200 200 401 401 401 403 401 401 401 401 401"
	statusesForFreeSession = "401 401 401 401 401 401 401 401 403 401 401 401 401 200"
	statusesForAdmin       = "401 403 403 200 403 401 401 401 403 401 401 401 401 401"
)

func asCreated(want string) string { return strings.ReplaceAll(want, "200", "201") }

// ownersVerificationToken verifies the owner's address; see newMatrixFixture.
var ownersVerificationToken = strings.Repeat("v", 43)

// avatarPicture is a picture of an account.
var avatarPicture = string(thumbtest.PNG(thumbtest.Quarters(4, 4)))

// matrix has a row for each route. Its expected values are written by hand.
var matrix = []routeRow{
	{"POST", "/api/auth/register", noAuth, func(o ownedItems) (string, any) {
		return "/api/auth/register", M{"username": "r_" + o.name, "email": "r_" + o.name + "@example.org",
			"password": "a good password"}
	}, asCreated(statusesForAll), false},
	// the owner is verified already
	{"GET", "/api/auth/verify-email", noAuth,
		fixedRequest("/api/auth/verify-email?token="+ownersVerificationToken, nil), statusesForAll, false},
	{"GET", "/api/auth/verify", noAuth, fixedRequest("/api/auth/verify?token="+ownersVerificationToken, nil),
		statusesForAll, false},
	{"POST", "/api/auth/resend-verification", noAuth,
		fixedRequest("/api/auth/resend-verification", M{"email": "owner@example.org"}), statusesForAll, true},
	{"POST", "/api/auth/login", noAuth, fixedRequest("/api/auth/login",
		M{"username": "owner", "password": "password of owner"}), statusesForAll, false},
	{"GET", "/api/auth/me", sessionAuth, fixedRequest("/api/auth/me", nil), statusesForSessions, false},
	{"GET", "/api/auth/csrf-token", sessionAuth, fixedRequest("/api/auth/csrf-token", nil), statusesForSessions, false},
	{"POST", "/api/auth/forgot-password", noAuth,
		fixedRequest("/api/auth/forgot-password", M{"email": "nobody@example.org"}), statusesForAll, false},
	{"POST", "/api/auth/reset-password", noAuth,
		fixedRequest("/api/auth/reset-password", M{"token": "none", "password": "a good password"}),
		strings.ReplaceAll(statusesForAll, "200", "400"), false},

	{"GET", "/api/files", sessionOrKeyAuth, fixedRequest("/api/files?path=/home/owner", nil),
		"401 200 403 200 403 200 403 403 403 401 401 401 401 401", false},
	{"POST", "/api/files/folder", sessionOrKeyAuth, func(o ownedItems) (string, any) {
		return "/api/files/folder", M{"path": "/home/owner", "name": "folder " + o.name}
	}, "401 201 403 201 403 403 201 403 403 401 401 401 401 401", false},
	{"GET", "/api/files/{id}", sessionOrKeyAuth,
		func(o ownedItems) (string, any) { return "/api/files/" + o.file, nil },
		"401 200 403 200 403 200 403 403 403 401 401 401 401 401", false},
	{"GET", "/api/files/{id}/properties", sessionOrKeyAuth,
		func(o ownedItems) (string, any) { return "/api/files/" + o.picture + "/properties", nil },
		"401 200 403 200 403 200 403 403 403 401 401 401 401 401", true},
	{"PUT", "/api/files/{id}", sessionOrKeyAuth,
		func(o ownedItems) (string, any) { return "/api/files/" + o.file, M{"name": "renamed " + o.name} },
		"401 200 403 200 403 403 200 403 403 401 401 401 401 401", false},
	{"POST", "/api/files/{id}/verify-password", sessionOrKeyAuth, func(o ownedItems) (string, any) {
		return "/api/files/" + o.protected + "/verify-password", M{"password": "open sesame"}
	}, "401 200 403 200 403 403 403 403 403 401 401 401 401 401", false},
	{"DELETE", "/api/files/{id}", sessionOrKeyAuth,
		func(o ownedItems) (string, any) { return "/api/files/" + o.file, nil },
		"401 200 403 200 403 403 403 200 403 401 401 401 401 401", false},
	{"GET", "/api/files/{id}/versions", sessionOrKeyAuth,
		func(o ownedItems) (string, any) { return "/api/files/" + o.versioned + "/versions", nil },
		"401 200 403 200 403 200 403 403 403 401 401 401 401 401", true},
	{"GET", "/api/files/{id}/versions/{until}/download", sessionOrKeyAuth,
		func(o ownedItems) (string, any) {
			return "/api/files/" + o.versioned + "/versions/" + o.until + "/download", nil
		}, "401 200 403 200 403 200 403 403 403 401 401 401 401 401", true},
	{"POST", "/api/files/{id}/versions/{until}/restore", sessionOrKeyAuth,
		func(o ownedItems) (string, any) {
			return "/api/files/" + o.versioned + "/versions/" + o.until + "/restore", nil
		}, "401 200 403 200 403 403 200 403 403 401 401 401 401 401", true},
	{"DELETE", "/api/files/{id}/versions/{until}", sessionOrKeyAuth,
		func(o ownedItems) (string, any) { return "/api/files/" + o.versioned + "/versions/" + o.until, nil },
		"401 200 403 200 403 403 403 200 403 401 401 401 401 401", true},
	{"POST", "/api/files/{id}/rewind", sessionOrKeyAuth, // no history is as old as that
		func(o ownedItems) (string, any) {
			return "/api/files/" + o.folder + "/rewind", M{"at": 1, "dryRun": true}
		}, "401 400 403 400 403 400 403 403 403 401 401 401 401 401", true},
	{"GET", "/api/trash", sessionOrKeyAuth, fixedRequest("/api/trash", nil),
		"401 200 200 200 200 200 403 403 403 401 401 401 401 401", true},
	{"POST", "/api/trash/{id}/restore", sessionOrKeyAuth,
		func(o ownedItems) (string, any) { return "/api/trash/" + o.trashed + "/restore", M{} },
		"401 200 404 200 404 403 200 403 403 401 401 401 401 401", true},
	{"DELETE", "/api/trash", sessionOrKeyAuth, fixedRequest("/api/trash", nil),
		"401 200 200 200 200 403 403 200 403 401 401 401 401 401", true},
	{"DELETE", "/api/trash/{id}", sessionOrKeyAuth,
		func(o ownedItems) (string, any) { return "/api/trash/" + o.trashed, nil },
		"401 200 404 200 404 403 403 200 403 401 401 401 401 401", true},
	{"GET", "/api/files/{id}/download", optionalAuth,
		func(o ownedItems) (string, any) { return "/api/files/" + o.file + "/download", nil },
		"401 200 403 200 403 200 403 403 403 401 401 401 401 401", false},
	{"GET", "/api/files/{id}/thumbnail", optionalAuth, func(o ownedItems) (string, any) {
		return "/api/files/" + o.picture + "/thumbnail?size=160", nil
	}, "401 200 403 200 403 200 403 403 403 401 401 401 401 401", true},
	{"POST", "/api/files/{id}/move", sessionOrKeyAuth, func(o ownedItems) (string, any) {
		return "/api/files/" + o.file + "/move", M{"targetPath": "/home/owner", "newName": "moved " + o.name}
	}, "401 200 403 200 403 403 403 403 403 401 401 401 401 401", false},
	{"POST", "/api/files/batch", sessionOrKeyAuth, func(o ownedItems) (string, any) {
		return "/api/files/batch", M{"action": "delete", "fileIds": []string{o.file}}
	}, "401 200 200 200 200 403 403 200 403 401 401 401 401 401", false}, // the refusal is in the outcome
	{"GET", "/api/files/zip", sessionOrKeyAuth,
		func(o ownedItems) (string, any) { return "/api/files/zip?ids=" + o.file, nil },
		"401 200 404 200 404 200 403 403 403 401 401 401 401 401", true},
	{"POST", "/api/files/{id}/copy", sessionOrKeyAuth, func(o ownedItems) (string, any) {
		return "/api/files/" + o.file + "/copy", M{"targetPath": "/home/owner", "newName": "copied " + o.name}
	}, "401 200 403 200 403 403 403 403 403 401 401 401 401 401", true},
	{"GET", "/api/files/revision", sessionOrKeyAuth, fixedRequest("/api/files/revision?path=/home/owner", nil),
		"401 200 403 200 403 200 403 403 403 401 401 401 401 401", true},
	{"GET", "/api/files/recent", sessionOrKeyAuth, fixedRequest("/api/files/recent", nil),
		"401 200 200 200 200 200 403 403 403 401 401 401 401 401", true},
	{"GET", "/api/files/timeline", sessionOrKeyAuth, fixedRequest("/api/files/timeline?path=/home/owner", nil),
		"401 200 403 200 403 200 403 403 403 401 401 401 401 401", true},
	{"GET", "/api/files/timeline/entries", sessionOrKeyAuth, fixedRequest("/api/files/timeline/entries", nil),
		"401 200 200 200 200 200 403 403 403 401 401 401 401 401", true},
	{"GET", "/api/files/timeline/revision", sessionOrKeyAuth, fixedRequest("/api/files/timeline/revision", nil),
		"401 200 200 200 200 200 403 403 403 401 401 401 401 401", true},
	{"GET", "/api/files/jobs", sessionOrKeyAuth, fixedRequest("/api/files/jobs", nil),
		"401 200 200 200 200 200 200 200 403 401 401 401 401 401", true},
	{"GET", "/api/files/jobs/{jobId}", sessionOrKeyAuth,
		func(o ownedItems) (string, any) { return "/api/files/jobs/" + o.job, nil },
		"401 200 404 404 404 200 200 200 403 401 401 401 401 401", false},
	// The owner's job is a move, which cannot be paused.
	{"POST", "/api/files/jobs/{jobId}/pause", sessionAuth,
		func(o ownedItems) (string, any) { return "/api/files/jobs/" + o.job + "/pause", nil },
		"401 409 404 404 404 401 401 401 403 401 401 401 401 401", true},
	{"POST", "/api/files/jobs/{jobId}/resume", sessionAuth,
		func(o ownedItems) (string, any) { return "/api/files/jobs/" + o.job + "/resume", nil },
		"401 409 404 404 404 401 401 401 403 401 401 401 401 401", true},
	{"GET", "/api/files/{id}/copy-links", sessionOrKeyAuth,
		func(o ownedItems) (string, any) { return "/api/files/" + o.file + "/copy-links?signed=true", nil },
		"401 200 403 200 403 200 403 403 403 401 401 401 401 401", false},
	{"POST", "/api/files/copy-links", sessionOrKeyAuth, func(o ownedItems) (string, any) {
		return "/api/files/copy-links", M{"ids": []string{o.file}}
	}, "401 200 200 200 200 200 403 403 403 401 401 401 401 401", true},
	{"POST", "/api/files/{id}/link", sessionAuth,
		func(o ownedItems) (string, any) { return "/api/files/" + o.file + "/link", nil },
		"401 200 403 200 403 401 401 401 403 401 401 401 401 401", true},
	{"POST", "/api/files/links", sessionAuth, func(o ownedItems) (string, any) {
		return "/api/files/links", M{"ids": []string{o.file}}
	}, "401 200 200 200 200 401 401 401 403 401 401 401 401 401", true}, // the refusal is in the item
	{"DELETE", "/api/files/{id}/link", sessionAuth,
		func(o ownedItems) (string, any) { return "/api/files/" + o.file + "/link", nil },
		"401 200 403 200 403 401 401 401 403 401 401 401 401 401", true},

	{"POST", "/api/files/upload-session", sessionOrKeyAuth, func(o ownedItems) (string, any) {
		return "/api/files/upload-session", M{"path": "/home/owner", "fileName": "new " + o.name, "fileSize": 1}
	}, "401 200 403 200 403 403 200 403 403 401 401 401 401 401", false},
	{"PUT", "/api/files/upload/raw/{sessionId}", sessionOrKeyAuth,
		func(o ownedItems) (string, any) { return "/api/files/upload/raw/" + o.session, "y" },
		"401 200 404 404 404 403 200 403 403 401 401 401 401 401", false},
	{"POST", "/api/files/upload-complete", sessionOrKeyAuth, func(o ownedItems) (string, any) {
		return "/api/files/upload-complete", M{"sessionId": o.session, "etag": o.etag}
	}, "401 200 404 404 404 403 200 403 403 401 401 401 401 401", false},
	{"PUT", "/api/files/upload/multipart/{sessionId}/part/{partNumber}", sessionOrKeyAuth,
		func(o ownedItems) (string, any) {
			return "/api/files/upload/multipart/" + o.multipart + "/part/1", "y"
		}, "401 200 404 404 404 403 200 403 403 401 401 401 401 401", false},
	{"GET", "/api/files/upload/multipart/{sessionId}/parts", sessionOrKeyAuth, func(o ownedItems) (string, any) {
		return "/api/files/upload/multipart/" + o.multipart + "/parts", nil
	}, "401 200 404 404 404 403 200 403 403 401 401 401 401 401", false},
	{"POST", "/api/files/upload/multipart/{sessionId}/renew", sessionOrKeyAuth, func(o ownedItems) (string, any) {
		return "/api/files/upload/multipart/" + o.multipart + "/renew", nil
	}, "401 200 404 404 404 403 200 403 403 401 401 401 401 401", true},
	{"GET", "/api/files/upload-sessions", sessionOrKeyAuth,
		fixedRequest("/api/files/upload-sessions?status=pending", nil),
		"401 200 200 200 200 403 200 403 403 401 401 401 401 401", true},
	{"DELETE", "/api/files/upload/multipart/{sessionId}", sessionOrKeyAuth,
		func(o ownedItems) (string, any) { return "/api/files/upload/multipart/" + o.session, nil },
		"401 200 404 404 404 403 200 403 403 401 401 401 401 401", false},

	{"POST", "/api/upload", uploadKeyAuth, formRequest("/api/upload"),
		"401 401 401 401 401 403 200 403 403 401 401 401 401 401", false},
	{"OPTIONS", "/api/upload", noAuth, fixedRequest("/api/upload", nil),
		strings.ReplaceAll(statusesForAll, "200", "204"), true},
	{"POST", "/api/upload/upload", uploadKeyAuth, formRequest("/api/upload/upload"),
		"401 401 401 401 401 403 200 403 403 401 401 401 401 401", false},
	{"OPTIONS", "/api/upload/upload", noAuth, fixedRequest("/api/upload/upload", nil),
		strings.ReplaceAll(statusesForAll, "200", "204"), true},
	{"POST", "/api/compat/upload", uploadKeyAuth, formRequest("/api/compat/upload"),
		"401 401 401 401 401 403 200 403 403 401 401 401 401 401", false},
	{"OPTIONS", "/api/compat/upload", noAuth, fixedRequest("/api/compat/upload", nil),
		strings.ReplaceAll(statusesForAll, "200", "204"), true},

	{"POST", "/api/shares/", sessionAuth, func(o ownedItems) (string, any) {
		return "/api/shares/", M{"fileId": o.file}
	}, "401 201 403 201 403 401 401 401 403 401 401 401 401 401", false},
	{"GET", "/api/shares/", sessionAuth, fixedRequest("/api/shares/", nil), statusesForSessions, false},
	{"GET", "/api/shares/{id}", noAuth, func(o ownedItems) (string, any) { return "/api/shares/" + o.share, nil },
		statusesForAll, false},
	{"POST", "/api/shares/{id}/verify", noAuth, func(o ownedItems) (string, any) {
		return "/api/shares/" + o.share + "/verify", M{"password": "open sesame"}
	}, statusesForAll, false},
	{"PATCH", "/api/shares/{id}", sessionAuth,
		func(o ownedItems) (string, any) { return "/api/shares/" + o.share, M{"title": "other"} },
		"401 200 404 404 404 401 401 401 403 401 401 401 401 401", true},
	{"DELETE", "/api/shares/{id}", sessionAuth,
		func(o ownedItems) (string, any) { return "/api/shares/" + o.share, nil },
		"401 200 404 404 404 401 401 401 403 401 401 401 401 401", false},

	{"GET", "/api/users/me/settings", sessionAuth, fixedRequest("/api/users/me/settings", nil), statusesForSessions,
		false},
	{"PUT", "/api/users/me/settings", sessionAuth, fixedRequest("/api/users/me/settings", M{"theme": "dark"}),
		statusesForSessions, false},
	// A wrong password, mail that is off, and no code: success would end the sessions or need a
	// mail server.
	{"PUT", "/api/users/me/password", sessionAuth,
		fixedRequest("/api/users/me/password", M{"oldPassword": "wrong", "newPassword": "a good password"}),
		strings.ReplaceAll(statusesForSessions, "200", "401"), false},
	{"POST", "/api/users/me/email/send-otp", sessionAuth,
		fixedRequest("/api/users/me/email/send-otp", M{"email": "other@example.com"}),
		strings.ReplaceAll(statusesForSessions, "200", "500"), false},
	{"POST", "/api/users/me/email/verify-otp", sessionAuth,
		fixedRequest("/api/users/me/email/verify-otp", M{"email": "other@example.com", "code": "000000"}),
		strings.ReplaceAll(statusesForSessions, "200", "400"), false},
	{"PUT", "/api/users/me/avatar", sessionAuth, fixedRequest("/api/users/me/avatar", avatarPicture), statusesForSessions,
		true},
	{"DELETE", "/api/users/me/avatar", sessionAuth, fixedRequest("/api/users/me/avatar", nil), statusesForSessions, true},
	{"GET", "/api/public/avatars/{id}", noAuth,
		func(o ownedItems) (string, any) { return "/api/public/avatars/" + o.avatar, nil }, statusesForAll, true},
	{"GET", "/api/users/me/sessions", sessionAuth, fixedRequest("/api/users/me/sessions", nil), statusesForSessions,
		true},
	{"DELETE", "/api/users/me/sessions/{id}", sessionAuth,
		func(o ownedItems) (string, any) { return "/api/users/me/sessions/" + o.signIn, nil },
		"401 200 404 404 404 401 401 401 403 401 401 401 401 401", true},
	{"GET", "/api/users/me/storage", sessionAuth, fixedRequest("/api/users/me/storage", nil), statusesForSessions, true},
	{"DELETE", "/api/users/me/sessions", sessionAuth, fixedRequest("/api/users/me/sessions", nil), statusesForSessions,
		true},
	{"GET", "/api/users/me/notifications", sessionAuth, fixedRequest("/api/users/me/notifications", nil),
		statusesForSessions, true},
	{"POST", "/api/users/me/notifications/read", sessionAuth,
		fixedRequest("/api/users/me/notifications/read", M{"all": true}), statusesForSessions, true},
	{"GET", "/api/users/me/favourites", sessionAuth, fixedRequest("/api/users/me/favourites", nil),
		statusesForSessions, true},
	{"PUT", "/api/users/me/favourites/{id}", sessionAuth,
		func(o ownedItems) (string, any) { return "/api/users/me/favourites/" + o.file, nil },
		"401 200 404 200 404 401 401 401 403 401 401 401 401 401", true},
	{"DELETE", "/api/users/me/favourites/{id}", sessionAuth,
		func(o ownedItems) (string, any) { return "/api/users/me/favourites/" + o.file, nil },
		"401 200 404 200 404 401 401 401 403 401 401 401 401 401", true},

	{"POST", "/api/keys/", sessionAuth, fixedRequest("/api/keys/",
		M{"name": "k", "permissions": []string{"read"}, "protocols": []string{"api"}}), asCreated(statusesForSessions),
		false},
	{"GET", "/api/keys/", sessionAuth, fixedRequest("/api/keys/", nil), statusesForSessions, false},
	{"GET", "/api/keys/rules", sessionAuth, fixedRequest("/api/keys/rules", nil), statusesForSessions, false},
	{"PATCH", "/api/keys/{id}", sessionAuth, func(o ownedItems) (string, any) {
		return "/api/keys/" + o.key, M{"name": "other"}
	}, "401 200 404 404 404 401 401 401 403 401 401 401 401 401", true},
	{"DELETE", "/api/keys/{id}", sessionAuth, func(o ownedItems) (string, any) { return "/api/keys/" + o.key, nil },
		"401 200 404 404 404 401 401 401 403 401 401 401 401 401", false},

	{"GET", "/api/admin/dashboard", adminAuth, fixedRequest("/api/admin/dashboard", nil), statusesForAdmin, false},
	{"GET", "/api/admin/stats", adminAuth, fixedRequest("/api/admin/stats", nil), statusesForAdmin, false},
	{"GET", "/api/admin/stats/series", adminAuth, fixedRequest("/api/admin/stats/series?metric=logins", nil),
		statusesForAdmin, true},
	{"GET", "/api/admin/stats/top", adminAuth, fixedRequest("/api/admin/stats/top", nil), statusesForAdmin, true},
	{"GET", "/api/admin/stats/storage", adminAuth, fixedRequest("/api/admin/stats/storage", nil), statusesForAdmin,
		true},
	{"GET", "/api/admin/system", adminAuth, fixedRequest("/api/admin/system", nil), statusesForAdmin, true},
	{"POST", "/api/admin/users", adminAuth, func(o ownedItems) (string, any) {
		return "/api/admin/users", M{"username": "u_" + o.name, "email": o.name + "@example.org",
			"password": "a good password"}
	}, asCreated(statusesForAdmin), true},
	{"GET", "/api/admin/users", adminAuth, fixedRequest("/api/admin/users", nil), statusesForAdmin, false},
	{"PUT", "/api/admin/users/{id}", adminAuth,
		func(o ownedItems) (string, any) { return "/api/admin/users/" + o.user, M{"maxFiles": 5} }, statusesForAdmin,
		false},
	{"GET", "/api/admin/users/{id}/impact", adminAuth,
		func(o ownedItems) (string, any) { return "/api/admin/users/" + o.user + "/impact", nil }, statusesForAdmin,
		true},
	{"POST", "/api/admin/users/{id}/password", adminAuth,
		func(o ownedItems) (string, any) { return "/api/admin/users/" + o.user + "/password", nil }, statusesForAdmin,
		true},
	{"DELETE", "/api/admin/users/{id}/trash", adminAuth,
		func(o ownedItems) (string, any) { return "/api/admin/users/" + o.user + "/trash", nil }, statusesForAdmin,
		true},
	{"DELETE", "/api/admin/users/{id}", adminAuth,
		func(o ownedItems) (string, any) { return "/api/admin/users/" + o.user, nil }, statusesForAdmin, false},
	{"GET", "/api/admin/shares", adminAuth, fixedRequest("/api/admin/shares", nil), statusesForAdmin, false},
	{"DELETE", "/api/admin/shares/{id}", adminAuth,
		func(o ownedItems) (string, any) { return "/api/admin/shares/" + o.share, nil }, statusesForAdmin, false},
	{"GET", "/api/admin/files", adminAuth, fixedRequest("/api/admin/files?search=a", nil), statusesForAdmin, false},
	{"GET", "/api/admin/settings", adminAuth, fixedRequest("/api/admin/settings", nil), statusesForAdmin, false},
	{"PATCH", "/api/admin/settings", adminAuth, fixedRequest("/api/admin/settings", M{"siteTitle": "Larder"}),
		statusesForAdmin, false},
	{"GET", "/api/admin/settings/impact", adminAuth, fixedRequest("/api/admin/settings/impact", nil),
		statusesForAdmin, true},
	// The address is invalid.
	{"POST", "/api/admin/settings/test-email", adminAuth,
		fixedRequest("/api/admin/settings/test-email", M{"to": "nobody"}),
		strings.ReplaceAll(statusesForAdmin, "200", "400"), false},
	{"GET", "/api/admin/announcements", adminAuth, fixedRequest("/api/admin/announcements", nil), statusesForAdmin,
		false},
	{"POST", "/api/admin/announcements", adminAuth,
		fixedRequest("/api/admin/announcements", M{"title": "t", "content": "c"}), asCreated(statusesForAdmin), false},
	{"PUT", "/api/admin/announcements/{id}", adminAuth,
		func(o ownedItems) (string, any) { return "/api/admin/announcements/" + o.announcement, M{"title": "u"} },
		statusesForAdmin, false},
	{"DELETE", "/api/admin/announcements/{id}", adminAuth,
		func(o ownedItems) (string, any) { return "/api/admin/announcements/" + o.announcement, nil }, statusesForAdmin,
		false},
	{"GET", "/api/admin/invites", adminAuth, fixedRequest("/api/admin/invites", nil), statusesForAdmin, true},
	{"POST", "/api/admin/invites", adminAuth,
		fixedRequest("/api/admin/invites", M{"maxUses": 2, "expiresIn": 60, "note": "for a friend"}),
		asCreated(statusesForAdmin), true},
	{"DELETE", "/api/admin/invites/{id}", adminAuth,
		func(o ownedItems) (string, any) { return "/api/admin/invites/" + o.invite, nil }, statusesForAdmin, true},
	{"GET", "/api/admin/storage/providers", adminAuth, fixedRequest("/api/admin/storage/providers", nil),
		statusesForAdmin, false},
	{"POST", "/api/admin/storage/providers", adminAuth,
		fixedRequest("/api/admin/storage/providers", M{"name": "p", "type": "store_a", "bucket": "matrix"}),
		asCreated(statusesForAdmin), false},
	{"PUT", "/api/admin/storage/providers/{id}", adminAuth,
		func(o ownedItems) (string, any) { return "/api/admin/storage/providers/" + o.provider, M{"name": "q"} },
		statusesForAdmin, false},
	{"DELETE", "/api/admin/storage/providers/{id}", adminAuth,
		func(o ownedItems) (string, any) { return "/api/admin/storage/providers/" + o.provider, nil }, statusesForAdmin,
		false},
	{"POST", "/api/admin/storage/providers/{id}/test", adminAuth, func(o ownedItems) (string, any) {
		return "/api/admin/storage/providers/" + o.provider + "/test", nil
	}, statusesForAdmin, false},
	// The provider itself is no target.
	{"POST", "/api/admin/storage/providers/{id}/evacuate", adminAuth, func(o ownedItems) (string, any) {
		return "/api/admin/storage/providers/" + o.provider + "/evacuate", M{"targetProviderId": o.provider}
	}, strings.ReplaceAll(statusesForAdmin, "200", "400"), true},
	{"GET", "/api/admin/mounts", adminAuth, fixedRequest("/api/admin/mounts", nil), statusesForAdmin, false},
	{"POST", "/api/admin/mounts", adminAuth, func(o ownedItems) (string, any) {
		return "/api/admin/mounts", M{"providerId": o.store, "mountPath": "/mounts/" + o.name, "name": "m"}
	}, asCreated(statusesForAdmin), false},
	{"PUT", "/api/admin/mounts/{id}", adminAuth,
		func(o ownedItems) (string, any) { return "/api/admin/mounts/" + o.mount, M{"priority": 5} }, statusesForAdmin,
		false},
	// There is no such target.
	{"POST", "/api/admin/mounts/{id}/evacuate", adminAuth, func(o ownedItems) (string, any) {
		return "/api/admin/mounts/" + o.mount + "/evacuate", M{"targetProviderId": "none"}
	}, strings.ReplaceAll(statusesForAdmin, "200", "400"), true},
	{"GET", "/api/admin/evacuations", adminAuth, fixedRequest("/api/admin/evacuations", nil), statusesForAdmin, true},
	// A move is no evacuation.
	{"GET", "/api/admin/evacuations/{jobId}", adminAuth,
		func(o ownedItems) (string, any) { return "/api/admin/evacuations/" + o.job, nil },
		strings.ReplaceAll(statusesForAdmin, "200", "404"), true},
	{"DELETE", "/api/admin/mounts/{id}", adminAuth,
		func(o ownedItems) (string, any) { return "/api/admin/mounts/" + o.mount, nil }, statusesForAdmin, false},
	{"GET", "/api/admin/rules", adminAuth, fixedRequest("/api/admin/rules", nil), statusesForAdmin, false},
	{"POST", "/api/admin/rules", adminAuth, fixedRequest("/api/admin/rules",
		M{"pathPattern": "/nowhere/**", "effect": "deny", "role": "guest"}), asCreated(statusesForAdmin), false},
	{"PUT", "/api/admin/rules/{id}", adminAuth,
		func(o ownedItems) (string, any) { return "/api/admin/rules/" + o.rule, M{"priority": 5} }, statusesForAdmin,
		false},
	{"DELETE", "/api/admin/rules/{id}", adminAuth,
		func(o ownedItems) (string, any) { return "/api/admin/rules/" + o.rule, nil }, statusesForAdmin, false},
	{"POST", "/api/admin/rules/explain", adminAuth,
		fixedRequest("/api/admin/rules/explain", M{"path": "/a", "permission": "read", "anonymous": true}),
		statusesForAdmin, true},
	{"GET", "/api/admin/logs", adminAuth, fixedRequest("/api/admin/logs", nil), statusesForAdmin, false},

	{"GET", "/api/shares/{id}/download", noAuth,
		func(o ownedItems) (string, any) { return "/api/shares/" + o.album + "/download", nil }, statusesForAll, false},
	{"GET", "/api/shares/{id}/preview", noAuth, func(o ownedItems) (string, any) {
		return "/api/shares/" + o.album + "/preview?file=" + o.picture, nil
	}, statusesForAll, false},
	{"GET", "/api/shares/{id}/thumbnail", noAuth, func(o ownedItems) (string, any) {
		return "/api/shares/" + o.album + "/thumbnail?size=160&file=" + o.picture, nil
	}, statusesForAll, true},
	{"GET", "/api/shares/{id}/files", noAuth,
		func(o ownedItems) (string, any) { return "/api/shares/" + o.album + "/files?path=/", nil }, statusesForAll,
		true},
	{"GET", "/api/shares/{id}/revision", noAuth,
		func(o ownedItems) (string, any) { return "/api/shares/" + o.album + "/revision", nil }, statusesForAll, true},
	{"GET", "/api/shares/{id}/size", noAuth,
		func(o ownedItems) (string, any) { return "/api/shares/" + o.album + "/size", nil }, statusesForAll, true},
	{"GET", "/api/public/oembed", noAuth, func(o ownedItems) (string, any) {
		return "/api/public/oembed?url=http://larder.test/share/" + o.album, nil
	}, statusesForAll, true},

	// The endpoint is private.
	// a store that refuses the key at once; where no store answers, the reply takes 5 seconds
	{"POST", "/api/free-mode/init", noAuth, func(o ownedItems) (string, any) {
		return "/api/free-mode/init", freeFields(o.bucket, M{"accessKeyId": "unknown"})
	}, strings.ReplaceAll(statusesForAll, "200", "400"), false},
	{"GET", "/api/free-mode/session", freeModeAuth, fixedRequest("/api/free-mode/session", nil), statusesForFreeSession,
		true},
	{"GET", "/api/free-mode/files", freeModeAuth, fixedRequest("/api/free-mode/files?path=/a", nil),
		statusesForFreeSession, false},
	{"GET", "/api/free-mode/download", freeModeAuth, fixedRequest("/api/free-mode/download?key=a", nil),
		strings.ReplaceAll(statusesForFreeSession, "200", "404"), true},
	{"POST", "/api/free-mode/upload", freeModeAuth, formRequest("/api/free-mode/upload?path=/a"),
		asCreated(statusesForFreeSession), false},
	{"DELETE", "/api/free-mode/object", freeModeAuth, fixedRequest("/api/free-mode/object?key=a", nil),
		statusesForFreeSession, false},
	{"POST", "/api/free-mode/logout", noAuth, fixedRequest("/api/free-mode/logout", nil), statusesForAll, false},

	{"GET", "/api/gateway/download/{token}", noAuth, func(o ownedItems) (string, any) { return o.gateway, nil },
		statusesForAll, false},
	{"GET", "/api/i/{link}", noAuth, func(o ownedItems) (string, any) { return o.link, nil }, statusesForAll, true},
	// The linked file is no picture.
	{"GET", "/api/i/{link}/thumbnail", noAuth,
		func(o ownedItems) (string, any) { return o.link + "/thumbnail?size=160", nil },
		strings.ReplaceAll(statusesForAll, "200", "404"), true},

	{"GET", "/api/public/settings", noAuth, fixedRequest("/api/public/settings", nil), statusesForAll, false},
	{"GET", "/api/public/features", noAuth, fixedRequest("/api/public/features", nil), statusesForAll, true},
	{"GET", "/api/public/announcements", noAuth, fixedRequest("/api/public/announcements", nil), statusesForAll, false},
	{"POST", "/api/public/unlock", optionalAuth,
		fixedRequest("/api/public/unlock", M{"path": "/public/locked.txt", "password": "open sesame"}),
		"200 200 200 200 200 403 403 403 403 401 401 401 200 200", true},
	{"GET", "/api/public/files", noAuth, fixedRequest("/api/public/files?path=/public", nil), statusesForAll, true},
	{"GET", "/api/public/files/revision", noAuth, fixedRequest("/api/public/files/revision?path=/public", nil),
		statusesForAll, true},
	{"GET", "/api/public/health", noAuth, fixedRequest("/api/public/health", nil), statusesForAll, false},
	{"GET", "/api/public/health/live", noAuth, fixedRequest("/api/public/health/live", nil), statusesForAll, false},
	{"GET", "/api/public/health/ready", noAuth, fixedRequest("/api/public/health/ready", nil), statusesForAll, false},
	{"GET", "/api/openapi.json", noAuth, fixedRequest("/api/openapi.json", nil), statusesForAll, true},

	// last, because it ends the sessions
	{"POST", "/api/auth/logout", noAuth, fixedRequest("/api/auth/logout", nil), statusesForAll, false},
}

// matrixFixture is a service with all principals.
type matrixFixture struct {
	t                       testing.TB
	owner, admin, anonymous *apptest.Client
	clients                 map[string]*apptest.Client
	protected               string // a file of the owner's with a password; another is public
	album, picture          string // see ownedItems
	bucket                  s3test.Bucket
	store                   string
	serial                  int
	last                    ownedItems // of each kind, the last one
}

func newMatrixFixture(t *testing.T, l *apptest.Larder) *matrixFixture {
	t.Helper()
	f := &matrixFixture{t: t, admin: l.Admin(t), anonymous: l.Client(t), bucket: s3test.New(t)}
	setAllowRegistration(t, l, true)
	l.ChangeSettings(t, func(s *site.Settings) { s.TrashDays = 30 })
	f.store = f.admin.Get("/api/admin/storage/providers").OK(200).Text("providers.0.id")
	f.owner = l.User(t, "owner")
	setVerificationToken(t, l, "owner", ownersVerificationToken, l.Clock.Now().Add(24*time.Hour))
	key := func(c *apptest.Client, more M) *apptest.Client {
		return c.Key(M{"uploadPath": "/home/owner"}.With(more))
	}
	f.protected = f.owner.Upload("/home/owner", "locked.txt", []byte("x"))
	f.owner.Put("/api/files/"+f.protected, M{"accessPassword": "open sesame"}).OK(200)
	f.admin.Put("/api/files/"+f.admin.Upload("/public", "locked.txt", []byte("x")), M{"accessPassword": "open sesame"}).
		OK(200)
	f.album = shareEntry(f.owner, mkdir(f.owner, "/home/owner", "album"))
	f.picture = f.owner.Upload("/home/owner/album", "picture.png", []byte(onePixel))
	victim := l.User(t, "victim")
	victimKey := key(victim, M{"uploadPath": "/uploads"})
	disabled := l.SignIn(t, "victim", "password of victim")
	setUserStatus(t, l, "victim", "disabled")
	// not the owner, who makes so many keys here that the oldest revoked ones are deleted
	former := l.User(t, "former")
	revoked := key(former, M{"uploadPath": "/uploads"})
	id, _, _ := strings.Cut(strings.TrimPrefix(revoked.Header.Get("Authorization"), "Bearer "), ".")
	former.Delete("/api/keys/" + id).OK(200)
	expired := key(former, M{"uploadPath": "/uploads", "expiresIn": 60})
	l.Clock.Advance(61 * time.Second)
	f.clients = map[string]*apptest.Client{
		"anonymous": f.anonymous, "owner": f.owner, "administrator": f.admin, "another user": l.User(t, "other"),
		"guest account": l.User(t, "guesty", M{"role": "guest"}),
		"key read":      key(f.owner, M{"permissions": []string{"read"}}),
		"key write":     key(f.owner, M{"permissions": []string{"write"}}),
		"key delete":    key(f.owner, M{"permissions": []string{"delete"}}),
		"key webdav":    key(f.owner, M{"protocols": []string{"webdav"}}), "revoked key": revoked,
		"expired key":          expired,
		"disabled owner's key": victimKey,
		"disabled account":     disabled, "free mode": openFreeSession(t, l, f.bucket, M{"sessionHours": 8}),
	}
	return f
}

// ownedItems are new items that belong to the owner.
type ownedItems struct {
	name                                               string
	file, job, session, etag, key, rule, gateway, link string
	multipart                                          string // a session in one part of 1 byte
	protected                                          string // the same file in all of them
	invite                                             string
	trashed                                            string // a file in the trash
	versioned, until                                   string // a file with a version
	folder                                             string
	share                                              string // with a password
	signIn                                             string // another session
	avatar                                             string
	// a share of a folder, and a file in that; the same in all of them
	album, picture string
	// store is the seeded provider, provider another without mounts
	store, provider, mount string
	user                   string // the same account in all of them, until it is deleted
	announcement           string
	bucket                 s3test.Bucket // the same in all of them
}

// newItems creates items: those that the requests of the rows name, or all of them without rows.
// Each replaces the one of its kind from the last call where their number is limited.
func (f *matrixFixture) newItems(name string, rows ...routeRow) ownedItems {
	f.t.Helper()
	f.serial++
	requests := ""
	for _, row := range rows {
		path, body := row.request(markerItems)
		requests += fmt.Sprintf("%s %s ", path, body)
	}
	needs := func(markers ...string) bool {
		return len(rows) == 0 ||
			slices.ContainsFunc(markers, func(marker string) bool { return strings.Contains(requests, marker) })
	}
	owner, admin, last := f.owner, f.admin, &f.last
	o := ownedItems{name: fmt.Sprint(name, f.serial), protected: f.protected, album: f.album, picture: f.picture,
		bucket: f.bucket, store: f.store}
	if needs(markerItems.file, markerItems.gateway, markerItems.share, markerItems.link) {
		o.file = owner.Upload("/home/owner", o.name+".png", []byte("x"))
	}
	if needs(markerItems.trashed) {
		o.trashed = owner.Upload("/home/owner", o.name+" deleted", []byte("x"))
		owner.Delete("/api/files/" + o.trashed + "?trash=true").OK(200)
	}
	if needs(markerItems.folder) {
		o.folder = owner.Post("/api/files/folder", M{"path": "/home/owner", "name": o.name + " folder"}).OK(201).
			Text("file.id")
	}
	if needs(markerItems.versioned) {
		o.versioned = owner.Upload("/home/owner", o.name+" versioned", []byte("x"))
		owner.Upload("/home/owner", o.name+" versioned", []byte("yz"), M{"conflict": "replace"})
		o.until = fmt.Sprint(owner.Get("/api/files/" + o.versioned + "/versions").OK(200).Int("versions.0.until"))
	}
	if needs(markerItems.job) {
		moved := owner.Upload("/home/owner", o.name+" to move", []byte("x"))
		o.job = owner.Post("/api/files/"+moved+"/move", M{"targetPath": "/home/owner", "newName": o.name + " moved"}).
			OK(200).Text("jobId")
	}
	if needs(markerItems.session, markerItems.etag) {
		if last.session != "" { // at most 100 are open
			owner.Delete("/api/files/upload/multipart/" + last.session)
		}
		o.session = owner.Post("/api/files/upload-session",
			M{"path": "/home/owner", "fileName": o.name + " session", "fileSize": 1}).OK(200).Text("sessionId")
		o.etag = owner.Put("/api/files/upload/raw/"+o.session, "x").OK(200).Text("etag")
		last.session = o.session
	}
	if needs(markerItems.multipart) {
		if last.multipart != "" {
			owner.Delete("/api/files/upload/multipart/" + last.multipart)
		}
		o.multipart = owner.Post("/api/files/upload-session",
			M{"path": "/home/owner", "fileName": o.name + " multipart", "fileSize": 1, "partCount": 2}).OK(200).
			Text("sessionId")
		last.multipart = o.multipart
	}
	if needs(markerItems.key) {
		o.key = owner.Post("/api/keys/", M{"name": "of " + o.name, "permissions": []string{"read"},
			"protocols": []string{"webdav"}}).OK(201).Text("key.id")
		if last.key != "" { // at most 20 are active
			owner.Delete("/api/keys/" + last.key)
		}
		last.key = o.key
	}
	if needs(markerItems.provider) {
		if last.provider != "" {
			admin.Delete("/api/admin/storage/providers/" + last.provider)
		}
		o.provider = addProvider(admin, "matrix")
		last.provider = o.provider
	}
	if needs(markerItems.mount) {
		if last.mount != "" {
			admin.Delete("/api/admin/mounts/" + last.mount)
		}
		o.mount = addMount(admin, o.store, "/mounts/"+o.name)
		last.mount = o.mount
	}
	if needs(markerItems.announcement) {
		if last.announcement != "" {
			admin.Delete("/api/admin/announcements/" + last.announcement)
		}
		o.announcement = admin.Post("/api/admin/announcements", M{"title": "t", "content": "c"}).OK(201).
			Text("announcement.id")
		last.announcement = o.announcement
	}
	if needs(markerItems.user) {
		// creating one costs a password hash
		if last.user == "" || admin.Put("/api/admin/users/"+last.user, M{}).Status != 200 {
			last.user = admin.Post("/api/admin/users",
				M{"username": fmt.Sprint("spare", f.serial), "email": o.name + "@spare.example.org",
					"password": "a good password"}).OK(201).Text("user.id")
		}
		o.user = last.user
	}
	if needs(markerItems.rule) {
		o.rule = addRule(admin, M{"pathPattern": "/nowhere/**", "effect": "deny", "role": "guest"})
	}
	if needs(markerItems.invite) {
		o.invite = admin.Post("/api/admin/invites", M{}).OK(201).Text("invite.id")
	}
	if needs(markerItems.gateway) {
		o.gateway = downloadURL(owner, o.file)
	}
	if needs(markerItems.share) {
		o.share = shareEntry(owner, o.file, M{"password": "open sesame"})
	}
	if needs(markerItems.link) {
		o.link = owner.Post("/api/files/"+o.file+"/link", nil).OK(200).Text("link.url")
	}
	if needs(markerItems.avatar) {
		o.avatar = path.Base(owner.Put("/api/users/me/avatar", avatarPicture).OK(200).Text("avatar"))
	}
	if needs(markerItems.signIn) {
		o.signIn = f.anotherSession()
	}
	return o
}

// anotherSession signs the owner in once more and returns the id of the session.
func (f *matrixFixture) anotherSession() string {
	c := f.anonymous.Fork()
	postLogin(c, "owner", "password of owner").OK(200)
	return currentSession(f.t, c)
}

// markerItems show which items a request names.
var markerItems = ownedItems{
	name: "marker-name", file: "marker-file", job: "marker-job", session: "marker-session", etag: "marker-etag",
	key: "marker-key", rule: "marker-rule", gateway: "marker-gateway", link: "marker-link",
	multipart: "marker-multipart", invite: "marker-invite", share: "marker-share", provider: "marker-provider",
	mount: "marker-mount", user: "marker-user", announcement: "marker-announcement",
	signIn: "marker-sign-in", avatar: "marker-avatar",
	trashed: "marker-trashed", folder: "marker-folder", versioned: "marker-versioned", until: "marker-until",
}

func TestEveryRouteIsInTheMatrix(t *testing.T) {
	t.Parallel()
	var rows, routes []string
	for _, row := range matrix {
		rows = append(rows, fmt.Sprint(row.method, " ", row.pattern, " addition: ", row.addition))
	}
	for _, route := range api.TableRows() {
		routes = append(routes, fmt.Sprint(route.Method, " ", route.Pattern, " addition: ", route.Addition))
	}
	slices.Sort(rows)
	slices.Sort(routes)
	for _, route := range routes {
		if !slices.Contains(rows, route) {
			t.Errorf("the matrix lacks %s", route)
		}
	}
	for _, row := range rows {
		if !slices.Contains(routes, row) {
			t.Errorf("there is no route %s", row)
		}
	}
}

// The matrix tests every route with every principal.
func TestAuthorisation(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite", apptest.ReachLoopback)
	f := newMatrixFixture(t, l)
	for _, row := range matrix {
		wants := strings.Fields(row.statuses)
		if len(wants) != len(principals) {
			t.Fatalf("%s %s: %d expectations", row.method, row.pattern, len(wants))
		}
		shared := ownedItems{bucket: f.bucket}
		for i, who := range principals {
			// makes new items where an earlier request may have changed them
			if row.needsItems() && (shared.name == "" || row.method != "GET" ||
				strings.Contains(row.pattern, "{token}")) {
				shared = f.newItems("m", row)
			}
			if !row.needsItems() || row.pattern == "/api/admin/users" || row.pattern == "/api/files/folder" ||
				row.pattern == "/api/files/upload-session" {
				f.serial++
				shared.name = fmt.Sprint("n", f.serial)
			}
			path, body := row.request(shared)
			var header []string
			if _, isForm := body.(formBody); isForm {
				bytes, contentType := apptest.Form(nil, "file", "a.txt", []byte("x"))
				body, header = bytes, []string{"Content-Type", contentType}
			}
			reply := send(f.clients[who].Fork(), row.method, path, body, header...)
			if fmt.Sprint(reply.Status) != wants[i] {
				t.Errorf("%s %s by %s: status %d, want %s: %.200s", row.method, row.pattern, who, reply.Status,
					wants[i], reply.Body)
				continue
			}
			if code := expectedCode(row, who, reply.Status); code != "" &&
				!strings.Contains(string(reply.Body), `"code":"`+code+`"`) {
				t.Errorf("%s %s by %s: %.200s, want %s", row.method, row.pattern, who, reply.Body, code)
			}
		}
	}
}

func (row routeRow) needsItems() bool {
	switch row.pattern {
	case "/api/files/upload-complete", "/api/files/copy-links", "/api/files/links", "/api/files/batch", "/api/files/zip",
		"/api/public/oembed":
		return true
	case "/api/admin/mounts", "/api/shares/":
		return row.method == "POST"
	}
	return strings.Contains(row.pattern, "{")
}

// expectedCode returns the error code of a refusal.
func expectedCode(row routeRow, who string, status int) string {
	switch {
	case row.pattern == "/api/users/me/password" &&
		slices.Contains([]string{"owner", "another user", "administrator", "guest account"}, who):
		return "INVALID_PASSWORD"
	case status == 401 && slices.Contains([]string{"revoked key", "expired key", "disabled owner's key"}, who):
		return "INVALID_TOKEN"
	case status == 401 && who == "disabled account" && row.auth != freeModeAuth && row.auth != uploadKeyAuth:
		return "SESSION_REVOKED"
	case status == 401:
		return "UNAUTHORIZED"
	case status == 403:
		return "FORBIDDEN"
	case status == 404:
		return "NOT_FOUND"
	}
	return ""
}

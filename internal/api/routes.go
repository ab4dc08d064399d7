package api

import (
	"reflect"

	"larder/internal/fault"
	"larder/internal/files"
)

// table is every endpoint of the service, in the order of the specification. Pages and public path serving are
// dispatched by hand (pages.go).
func (a *API) table() []route {
	return []route{
		// Authentication endpoints
		post("/api/auth/register", op(201, a.register)).by(byNobody).within(perIP).says("Make an account for oneself").may(fault.Forbidden, fault.AlreadyExists, fault.MailFailed),
		post("/api/auth/login", op(200, a.login)).by(byNobody).within(perIP).says("Sign in").may(fault.BadCredentials, fault.UserDisabled, fault.EmailNotVerified, fault.Forbidden),
		post("/api/auth/logout", op(200, a.logout)).by(byNobody).says("Sign out: ends every session of the account"),
		get("/api/auth/me", op(200, a.me)).by(bySession).says("Who is signed in"),
		get("/api/auth/csrf-token", op(200, a.csrfToken)).by(bySession).says("The token that cookie-authenticated writes must send in X-CSRF-Token"),
		post("/api/auth/forgot-password", op(200, a.forgotPassword)).by(byNobody).within(perIP).says("Have a link mailed by which a new password is set").may(fault.Forbidden),
		post("/api/auth/reset-password", op(200, a.resetPassword)).by(byNobody).within(perIP).says("Set a new password by a mailed token, which ends all sessions").may(fault.Forbidden),

		get("/api/auth/verify-email", stream("text/html", a.verifyEmail)).reads(verifyInput{}).by(byNobody).within(perIP).says("Verify an e-mail address by the link that was mailed to it; a page says so").may(fault.Invalid),
		get("/api/auth/verify", stream("text/html", a.verifyEmail)).reads(verifyInput{}).by(byNobody).within(perIP).says("The same").may(fault.Invalid),
		post("/api/auth/resend-verification", op(200, a.resendVerification)).by(byNobody).within(perIP).says("Have another verification link mailed; the answer is always the same").may(fault.Forbidden).extra(),

		// File endpoints
		get("/api/files", op(200, a.listFiles)).by(bySessionOrKey).says("List or search a folder").may(fault.PasswordRequired, fault.Forbidden, fault.NotFound),
		post("/api/files/folder", op(201, a.createFolder)).by(bySessionOrKey).says("Create a folder").may(fault.PasswordRequired, fault.Forbidden, fault.NotFound, fault.AlreadyExists, fault.QuotaExceeded),
		get("/api/files/{id}", op(200, a.fileDetails)).by(bySessionOrKey).says("Details of a file or folder").may(fault.PasswordRequired, fault.Forbidden, fault.NotFound),
		put("/api/files/{id}", op(200, a.updateFile)).by(bySessionOrKey).says("Rename, set metadata and the access password").may(fault.PasswordRequired, fault.Forbidden, fault.NotFound, fault.AlreadyExists, fault.Conflict),
		post("/api/files/{id}/verify-password", op(200, a.verifyPassword)).by(bySessionOrKey).says("Give the password of a file, for a download address, or of a folder, for a cookie").may(fault.InvalidPassword, fault.PasswordRequired, fault.Forbidden, fault.NotFound),
		get("/api/files/{id}/copy-links", op(200, a.copyLinks)).by(bySessionOrKey).says("Addresses to paste into documents: the public path, or a signed link to a file").may(fault.PasswordRequired, fault.Forbidden, fault.NotFound, fault.Conflict),
		post("/api/files/copy-links", op(200, a.copyManyLinks)).by(bySessionOrKey).says("Copy-links of up to 100 files and folders, each judged by itself").may(fault.Conflict).extra(),
		del("/api/files/{id}", op(200, a.deleteFile)).by(bySessionOrKey).says("Delete a file or folder for good").may(fault.PasswordRequired, fault.Forbidden, fault.NotFound, fault.Conflict),
		get("/api/files/{id}/download", stream("application/json", a.fileDownload)).finds((*call).findEmbedded).tell(envelope[downloadReply]{}).by(byAnyone).within(forBytes).says("A single-use download address; for an embed the bytes, for a visitor a redirect to where the file is published").may(fault.PasswordRequired, fault.Forbidden, fault.NotFound).sends("To where the file is published, for a visitor; for an embed to the file's store, where the provider says so"),
		get("/api/files/{id}/thumbnail", stream("image/*", a.thumbnail)).finds((*call).findFile).reads(thumbnailInput{}).by(byAnyone).within(forBytes).says("A small picture of a picture, for whoever may download it: WebP, JPEG or PNG").may(fault.PasswordRequired, fault.Forbidden, fault.NotFound).extra(),
		post("/api/files/{id}/move", op(200, a.moveFile)).by(bySessionOrKey).says("Move or rename").may(fault.Forbidden, fault.PasswordRequired, fault.NotFound, fault.Conflict),
		post("/api/files/{id}/copy", op(200, a.copyFile)).by(bySessionOrKey).says("Copy a file or folder").may(fault.Forbidden, fault.PasswordRequired, fault.NotFound, fault.Conflict, fault.QuotaExceeded).extra(),
		get("/api/files/zip", stream("application/zip", a.zipFiles)).reads(zipInput{}).by(bySessionOrKey).within(forBytes).says("A zip of what the caller may download of some files and folders").may(fault.Invalid, fault.Forbidden, fault.NotFound).extra(),
		get("/api/files/jobs", op(200, a.listJobs)).by(bySessionOrKey).says("The caller's newest jobs").extra(),
		get("/api/files/jobs/{jobId}", op(200, a.jobDetails)).by(bySessionOrKey).says("A job of the caller's").may(fault.NotFound),
		post("/api/files/batch", op(200, a.batch)).by(bySessionOrKey).says("Delete or move up to 100 files and folders, each on its own").may(fault.Forbidden),
		post("/api/files/{id}/link", op(200, a.makeLink)).by(bySession).says("Make or return the permanent link").may(fault.Forbidden, fault.NotFound).extra(),
		del("/api/files/{id}/link", op(200, a.revokeLink)).by(bySession).says("Revoke the permanent link").may(fault.Forbidden, fault.NotFound).extra(),

		// Upload endpoints
		post("/api/files/upload-session", op(200, a.createSession)).by(bySessionOrKey).within(forBytes).says("Begin an upload").may(fault.Forbidden, fault.NotFound, fault.AlreadyExists, fault.Conflict, fault.QuotaExceeded),
		put("/api/files/upload/raw/{sessionId}", stream("application/json", a.putRaw)).tell(envelope[putRawReply]{}).by(bySessionOrKey).within(forBytes).takesBytes().says("Send the bytes of a single-file session").may(fault.NotFound, fault.Conflict, fault.UploadExpired, fault.Unverified),
		post("/api/files/upload-complete", op(200, a.completeUpload)).by(bySessionOrKey).within(forBytes).says("Make the file of what was uploaded").may(fault.Forbidden, fault.NotFound, fault.AlreadyExists, fault.Conflict, fault.UploadExpired, fault.QuotaExceeded, fault.Unverified),
		put("/api/files/upload/multipart/{sessionId}/part/{partNumber}", stream("application/json", a.putPart)).tell(envelope[putPartReply]{}).by(bySessionOrKey).within(forBytes).takesBytes().says("Send one part of a multipart session").may(fault.Invalid, fault.NotFound, fault.Conflict, fault.UploadExpired, fault.Unverified),
		get("/api/files/upload/multipart/{sessionId}/parts", op(200, a.listParts)).by(bySessionOrKey).within(forBytes).says("What has come in of a multipart session: the truth for resuming").may(fault.NotFound, fault.Conflict, fault.UploadExpired),
		post("/api/files/upload/multipart/{sessionId}/renew", op(200, a.renewUpload)).by(bySessionOrKey).within(forBytes).says("Give a multipart session another hour, up to a day in all").may(fault.NotFound, fault.Conflict, fault.UploadExpired).extra(),
		get("/api/files/upload-sessions", op(200, a.listSessions)).by(bySessionOrKey).within(forBytes).says("The caller's open upload sessions, and expired ones whose parts are kept").extra(),
		del("/api/files/upload/multipart/{sessionId}", op(200, a.abortUpload)).by(bySessionOrKey).within(forBytes).says("Abort an upload").may(fault.NotFound, fault.Conflict),

		// Compatible upload endpoints
		post("/api/upload", stream("application/json", a.compatibleUpload)).tell(envelope[compatibleUploadReply]{}).by(byUploadKey).within(forBytes).takesForm().says("Upload a file in one request").may(compatFaults...),
		options("/api/upload", stream("", a.compatiblePreflight)).by(byNobody).within(forBytes).says("Preflight").extra(),
		post("/api/upload/upload", stream("application/json", a.compatibleUpload)).tell(envelope[compatibleUploadReply]{}).by(byUploadKey).within(forBytes).takesForm().says("Upload a file in one request").may(compatFaults...),
		options("/api/upload/upload", stream("", a.compatiblePreflight)).by(byNobody).within(forBytes).says("Preflight").extra(),
		post("/api/compat/upload", stream("application/json", a.compatibleUpload)).tell(envelope[compatibleUploadReply]{}).by(byUploadKey).within(forBytes).takesForm().says("Upload a file in one request").may(compatFaults...),
		options("/api/compat/upload", stream("", a.compatiblePreflight)).by(byNobody).within(forBytes).says("Preflight").extra(),

		// Share endpoints
		post("/api/shares/", op(201, a.createShare)).by(bySession).says("Share a file or folder").may(fault.Forbidden, fault.PasswordRequired, fault.NotFound, fault.Conflict),
		get("/api/shares/", op(200, a.listShares)).by(bySession).says("The caller's shares, newest first"),
		get("/api/shares/{id}", op(200, a.visitShare)).by(byNobody).says("What is shared, for whoever has the address; each time counts as a view").may(fault.NotFound, fault.ShareRevoked, fault.ShareExpired, fault.ShareLimitReached),
		post("/api/shares/{id}/verify", op(200, a.verifyShare)).by(byNobody).says("Give the password of a share, for a cookie").may(fault.NotFound, fault.ShareRevoked, fault.ShareExpired, fault.InvalidPassword, fault.PasswordRequired),
		get("/api/shares/{id}/download", op(200, a.shareDownload)).by(byNobody).within(forBytes).says("A single-use download address of what is shared; the download counts when it is used").may(fault.NotFound, fault.ShareRevoked, fault.ShareExpired, fault.Forbidden, fault.InvalidPassword, fault.ShareLimitReached),
		get("/api/shares/{id}/preview", stream("*/*", a.sharePreview)).reads(shareFileInput{}).by(byNobody).within(forBytes).says("The picture that is shared, to be shown; also video, audio, PDF and plain text").may(fault.Invalid, fault.NotFound, fault.ShareExpired, fault.Forbidden, fault.InvalidPassword).sends(toStore),
		get("/api/shares/{id}/thumbnail", stream("image/*", a.shareThumbnail)).reads(shareThumbnailInput{}).by(byNobody).within(forBytes).says("A small picture of the picture that is shared").may(fault.NotFound, fault.ShareExpired, fault.Forbidden, fault.InvalidPassword).extra(),
		get("/api/shares/{id}/files", op(200, a.listShare)).by(byNobody).says("List a folder that is shared, or one in it").may(fault.NotFound, fault.ShareRevoked, fault.ShareExpired, fault.InvalidPassword).extra(),
		patch("/api/shares/{id}", op(200, a.changeShare)).by(bySession).says("Change a share").may(fault.NotFound, fault.Forbidden, fault.PasswordRequired, fault.Conflict).extra(),
		del("/api/shares/{id}", op(200, a.revokeShare)).by(bySession).says("Revoke a share for good").may(fault.NotFound),

		// User endpoints
		get("/api/users/me/settings", op(200, a.mySettings)).by(bySession).says("One's own profile, appearance and quota").may(fault.NotFound),
		put("/api/users/me/settings", op(200, a.changeMySettings)).by(bySession).says("Change one's own profile and appearance"),
		put("/api/users/me/password", op(200, a.changeMyPassword)).by(bySession).says("Change one's own password, which ends all sessions").may(fault.InvalidPassword),
		post("/api/users/me/email/send-otp", op(200, a.sendCode)).by(bySession).says("Have a code mailed to a new address").may(fault.MailFailed),
		post("/api/users/me/email/verify-otp", op(200, a.confirmCode)).by(bySession).says("Take the address that the code was mailed to"),

		// API key endpoints
		post("/api/keys/", op(201, a.createKey)).by(bySession).says("Create an API key; its secret is shown this once").may(fault.Forbidden),
		get("/api/keys/", op(200, a.listKeys)).by(bySession).says("The caller's API keys"),
		get("/api/keys/rules", op(200, a.keyRules)).by(bySession).says("The path rules that apply to the caller's keys"),
		patch("/api/keys/{id}", op(200, a.changeKey)).by(bySession).says("Change an API key").may(fault.NotFound, fault.Forbidden).extra(),
		del("/api/keys/{id}", op(200, a.revokeKey)).by(bySession).says("Revoke an API key").may(fault.NotFound),

		// Admin endpoints
		get("/api/admin/dashboard", op(200, a.dashboard)).by(byAdmin).says("How much there is of everything, requests of a day, what happened last"),
		get("/api/admin/stats", op(200, a.stats)).by(byAdmin).says("How much there is of everything, and what happened last"),
		get("/api/admin/stats/series", op(200, a.series)).by(byAdmin).says("A number over time, for charts").extra(),
		get("/api/admin/system", op(200, a.system)).by(byAdmin).says("The state of this installation, and warnings").extra(),
		post("/api/admin/users", op(201, a.createUser)).by(byAdmin).says("Create an account").may(fault.AlreadyExists).extra(),
		get("/api/admin/users", op(200, a.listUsers)).by(byAdmin).says("Accounts, by username"),
		put("/api/admin/users/{id}", op(200, a.updateUser)).by(byAdmin).says("Change an account's role, status, home or quota").may(fault.NotFound),
		del("/api/admin/users/{id}", op(200, a.deleteUser)).by(byAdmin).says("Delete an account; its files go to whoever deletes it").may(fault.NotFound),
		get("/api/admin/shares", op(200, a.listAllShares)).by(byAdmin).says("Everybody's shares, newest first"),
		del("/api/admin/shares/{id}", op(200, a.revokeAnyShare)).by(byAdmin).says("Revoke anybody's share for good").may(fault.NotFound),
		get("/api/admin/files", op(200, a.adminFiles)).by(byAdmin).says("Files and folders in all mounts, whosever they are"),
		get("/api/admin/settings", op(200, a.siteSettings)).by(byAdmin).says("The site settings"),
		patch("/api/admin/settings", op(200, a.changeSettings)).by(byAdmin).says("Change any of the site settings"),
		post("/api/admin/settings/test-email", op(200, a.testEmail)).by(byAdmin).says("Send a test message, and tell what the mail server said").may(fault.MailFailed),
		get("/api/admin/announcements", op(200, a.listAnnouncements)).by(byAdmin).says("Announcements, the newest first, expired ones too"),
		post("/api/admin/announcements", op(201, a.createAnnouncement)).by(byAdmin).says("Make an announcement").may(fault.Conflict),
		put("/api/admin/announcements/{id}", op(200, a.updateAnnouncement)).by(byAdmin).says("Change an announcement").may(fault.NotFound),
		del("/api/admin/announcements/{id}", op(200, a.deleteAnnouncement)).by(byAdmin).says("Delete an announcement").may(fault.NotFound),
		get("/api/admin/invites", op(200, a.listInvites)).by(byAdmin).says("Invite codes, newest first").extra(),
		post("/api/admin/invites", op(201, a.createInvite)).by(byAdmin).says("Create an invite code").may(fault.Conflict).extra(),
		del("/api/admin/invites/{id}", op(200, a.deleteInvite)).by(byAdmin).says("Delete an invite code, which ends it").may(fault.NotFound).extra(),
		get("/api/admin/storage/providers", op(200, a.listProviders)).by(byAdmin).says("Storage providers"),
		post("/api/admin/storage/providers", op(201, a.createProvider)).by(byAdmin).says("Create a storage provider"),
		put("/api/admin/storage/providers/{id}", op(200, a.updateProvider)).by(byAdmin).says("Change a storage provider").may(fault.NotFound, fault.Conflict),
		del("/api/admin/storage/providers/{id}", op(200, a.deleteProvider)).by(byAdmin).says("Delete a storage provider that is empty and has no mounts").may(fault.NotFound, fault.Conflict),
		post("/api/admin/storage/providers/{id}/test", op(200, a.testProvider)).by(byAdmin).onlyAsks().says("Try out what a provider's store can do").may(fault.NotFound),
		get("/api/admin/mounts", op(200, a.listMounts)).by(byAdmin).says("Mounts"),
		post("/api/admin/mounts", op(201, a.createMount)).by(byAdmin).says("Create a mount").may(fault.Conflict),
		put("/api/admin/mounts/{id}", op(200, a.updateMount)).by(byAdmin).says("Change a mount").may(fault.NotFound, fault.Conflict),
		del("/api/admin/mounts/{id}", op(200, a.deleteMount)).by(byAdmin).says("Delete a mount without files, and its folders").may(fault.NotFound, fault.Conflict),
		get("/api/admin/rules", op(200, a.listRules)).by(byAdmin).says("Permission rules"),
		post("/api/admin/rules", op(201, a.createRule)).by(byAdmin).says("Create a permission rule"),
		put("/api/admin/rules/{id}", op(200, a.updateRule)).by(byAdmin).says("Change a permission rule").may(fault.NotFound),
		del("/api/admin/rules/{id}", op(200, a.deleteRule)).by(byAdmin).says("Delete a permission rule").may(fault.NotFound),
		post("/api/admin/rules/explain", op(200, a.explainRules)).by(byAdmin).onlyAsks().says("What the permission decision says, and why").may(fault.NotFound).extra(),
		get("/api/admin/logs", op(200, a.listLogs)).by(byAdmin).says("The access log, newest first"),

		// Free-mode endpoints
		post("/api/free-mode/init", op(201, a.freeInit)).by(byNobody).within(perIP).inFreeMode().says("Connect to a bucket of one's own, as a visitor").may(fault.Forbidden, fault.ConnectionRefused),
		get("/api/free-mode/session", op(200, a.freeSession)).by(byFree).inFreeMode().says("The free-mode session, as init answered").extra(),
		get("/api/free-mode/files", op(200, a.freeList)).by(byFree).inFreeMode().says("List a folder of the bucket"),
		get("/api/free-mode/download", stream("*/*", a.freeDownload)).reads(freeKeyInput{}).by(byFree).inFreeMode().within(forBytes).says("The bytes of an object, as an attachment").may(fault.Invalid, fault.NotFound).extra(),
		post("/api/free-mode/upload", stream("application/json", a.freeUpload).answers(201)).reads(freeUploadInput{}).tell(envelope[freeUploadReply]{}).by(byFree).inFreeMode().within(forBytes).takesForm().says("Store a file in the bucket").may(fault.TooLarge, fault.Unverified),
		del("/api/free-mode/object", op(200, a.freeDelete)).by(byFree).inFreeMode().says("Delete an object"),
		post("/api/free-mode/logout", op(200, a.freeLogout)).by(byNobody).says("End the free-mode session").may(fault.InvalidCSRF, fault.Forbidden),

		// Download gateway, permanent links
		get("/api/gateway/download/{token}", stream("*/*", a.gateway)).by(byNobody).within(forBytes).says("Redeem a single-use download token").may(fault.InvalidToken, fault.PasswordRequired, fault.NotFound, fault.ShareLimitReached, fault.TooLarge).sends(toStore),
		get("/api/i/{link}", stream("*/*", a.permanentLink)).by(byNobody).within(forBytes).says("The bytes behind a permanent link").may(fault.NotFound).extra().sends(toStore),
		get("/api/i/{link}/thumbnail", stream("image/*", a.linkThumbnail)).reads(linkThumbnailInput{}).by(byNobody).within(forBytes).says("A small picture of the picture behind a permanent link").may(fault.NotFound).extra(),

		// Public endpoints
		get("/api/public/settings", op(200, a.publicSettings)).by(byNobody).says("What a visitor may know of the site's settings"),
		get("/api/public/features", op(200, a.publicFeatures)).by(byNobody).says("Which features are on").extra(),
		get("/api/public/announcements", op(200, a.publicAnnouncements)).by(byNobody).says("Announcements that have not expired, the newest first"),
		post("/api/public/unlock", op(200, a.unlock)).by(byAnyone).says("Give the password of what lies at a path").may(fault.InvalidPassword, fault.PasswordRequired, fault.Forbidden).extra(),
		get("/api/public/files", op(200, a.listPublicFiles)).by(byNobody).says("List or search a folder as a visitor without an account").may(fault.Unauthorized, fault.PasswordRequired, fault.NotFound).extra(),
		get("/api/public/health", stream("application/json", a.health)).tell(healthReply{}).by(byNobody).watches().says("Health"),
		get("/api/public/health/live", stream("application/json", a.live)).tell(healthReply{}).by(byNobody).watches().says("Liveness"),
		get("/api/public/health/ready", stream("application/json", a.ready)).tell(healthReply{}).by(byNobody).watches().says("Readiness"),
		get("/api/openapi.json", stream("application/json", a.openapiDocument)).tell(map[string]any{}).by(byNobody).says("This document").extra(),
	}
}

// putToStore is where who downloads is sent with the provider's flag redirect.
const toStore = "To the file's store, where the provider says so; HEAD is answered here"

var compatFaults = []fault.Kind{fault.InvalidToken, fault.Forbidden, fault.TooLarge, fault.QuotaExceeded, fault.Unverified}

func get(pattern string, r route) route     { return r.at("GET", pattern) }
func post(pattern string, r route) route    { return r.at("POST", pattern) }
func put(pattern string, r route) route     { return r.at("PUT", pattern) }
func patch(pattern string, r route) route   { return r.at("PATCH", pattern) }
func del(pattern string, r route) route     { return r.at("DELETE", pattern) }
func options(pattern string, r route) route { return r.at("OPTIONS", pattern) }

func (r route) at(method, pattern string) route { r.method, r.pattern = method, pattern; return r }
func (r route) by(w who) route                  { r.who = w; return r }
func (r route) within(b bucket) route           { r.bucket = b; return r }
func (r route) says(summary string) route       { r.summary = summary; return r }
func (r route) may(faults ...fault.Kind) route  { r.faults = faults; return r }
func (r route) sends(to string) route           { r.leads = to; return r }
func (r route) tell(json any) route             { r.tells = reflect.TypeOf(json); return r }
func (r route) reads(input any) route           { r.in = reflect.TypeOf(input); return r }
func (r route) finds(find func(*call) (*files.Found, error)) route {
	r.find = find
	return r
}
func (r route) extra() route      { r.addition = true; return r }
func (r route) watches() route    { r.probe = true; return r }
func (r route) onlyAsks() route   { r.asks = true; return r }
func (r route) inFreeMode() route { r.free = true; return r }
func (r route) answers(status int) route {
	r.status = status
	return r
}
func (r route) takesBytes() route { r.takes = rawBody; return r }
func (r route) takesForm() route  { r.takes = uploadBody; return r }

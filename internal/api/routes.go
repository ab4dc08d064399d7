package api

import "larder/internal/fault"

// routeTable returns all endpoints of the service, in the order of the specification. dispatch
// handles pages and public paths (pages.go).
func (a *API) routeTable() []route {
	return []route{
		// Authentication endpoints
		post("/api/auth/register", jsonRoute(201, a.register)).withAuth(noAuth).withLimit(authLimit).
			withSummary("Register an account").
			withFaults(fault.Forbidden, fault.AlreadyExists, fault.MailFailed),
		post("/api/auth/login", jsonRoute(200, a.login)).withAuth(noAuth).withLimit(authLimit).withSummary("Sign in").
			withFaults(fault.BadCredentials, fault.UserDisabled, fault.EmailNotVerified, fault.Forbidden),
		post(logoutPath, jsonRoute(200, a.logout)).withAuth(noAuth).
			withSummary("Sign out: ends every session of the account"),
		get("/api/auth/me", jsonRoute(200, a.me)).withAuth(sessionAuth).
			withSummary("The signed-in user, with the quota"),
		get("/api/auth/csrf-token", jsonRoute(200, a.csrfToken)).withAuth(sessionAuth).
			withSummary("The CSRF token; writes with the session cookie send it in X-CSRF-Token"),
		post("/api/auth/forgot-password", jsonRoute(200, a.forgotPassword)).withAuth(noAuth).withLimit(authLimit).
			withSummary("Mail a link for setting a new password").withFaults(fault.Forbidden),
		post("/api/auth/reset-password", jsonRoute(200, a.resetPassword)).withAuth(noAuth).withLimit(authLimit).
			withSummary("Set a new password with the mailed token; this ends all sessions").withFaults(fault.Forbidden),

		get("/api/auth/verify-email", streamRoute("text/html", a.verifyEmail)).withInput(verifyInput{}).
			withAuth(noAuth).withLimit(authLimit).
			withSummary("Verify an email address with the mailed token; the answer is a page").
			withFaults(fault.Invalid),
		get("/api/auth/verify", streamRoute("text/html", a.verifyEmail)).withInput(verifyInput{}).withAuth(noAuth).
			withLimit(authLimit).withSummary("Verify an email address, as verify-email does").
			withFaults(fault.Invalid),
		post("/api/auth/resend-verification", jsonRoute(200, a.resendVerification)).withAuth(noAuth).
			withLimit(authLimit).withSummary("Mail another verification link; the answer is always the same").
			withFaults(fault.Forbidden).asAddition(),

		// File endpoints
		get("/api/files", jsonRoute(200, a.listFiles)).withAuth(sessionOrKeyAuth).withCompression().
			withSummary("List or search a folder").withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound),
		get("/api/files/revision", jsonRoute(200, a.folderRevision)).withAuth(sessionOrKeyAuth).
			withSummary("State of a folder's listing, to notice changes by others").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound).asAddition(),
		get("/api/files/recent", jsonRoute(200, a.recentFiles)).withAuth(sessionOrKeyAuth).withCompression().
			withSummary("The caller's own files that were stored or changed last, newest first").asAddition(),
		get("/api/files/timeline", jsonRoute(200, a.timeline)).withAuth(sessionOrKeyAuth).withCompression().
			withSummary("Pictures and videos by month: numbers and proportions").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound).asAddition(),
		get("/api/files/timeline/entries", jsonRoute(200, a.timelineEntries)).withAuth(sessionOrKeyAuth).
			withCompression().withSummary("Pictures and videos by the time at which they were taken, newest first").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound).asAddition(),
		get("/api/files/timeline/revision", jsonRoute(200, a.timelineRevision)).withAuth(sessionOrKeyAuth).
			withSummary("State of the timeline of the caller's own files, to notice changes").asAddition(),
		post("/api/files/folder", jsonRoute(201, a.createFolder)).withAuth(sessionOrKeyAuth).
			withSummary("Create a folder").withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound,
			fault.AlreadyExists, fault.QuotaExceeded),
		get("/api/files/{id}", jsonRoute(200, a.fileDetails)).withAuth(sessionOrKeyAuth).
			withSummary("Details of a file or folder").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound),
		get("/api/files/{id}/properties", jsonRoute(200, a.fileProperties)).withAuth(sessionOrKeyAuth).
			withSummary("Owner and checksum of a file; camera, exposure and place of a picture").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound).asAddition(),
		put("/api/files/{id}", jsonRoute(200, a.updateFile)).withAuth(sessionOrKeyAuth).
			withSummary("Rename a file or folder, set its metadata or access password").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound, fault.AlreadyExists, fault.Conflict),
		post("/api/files/{id}/verify-password", jsonRoute(200, a.verifyPassword)).withAuth(sessionOrKeyAuth).
			withSummary("Submit the password of a file, for a download address, or of a folder, for a cookie").
			withFaults(fault.InvalidPassword, fault.PasswordRequired, fault.Forbidden, fault.NotFound),
		get("/api/files/{id}/copy-links", jsonRoute(200, a.copyLinks)).withAuth(sessionOrKeyAuth).
			withSummary("Links to paste into documents: the public path, or a signed link to a file").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound, fault.Conflict),
		post("/api/files/copy-links", jsonRoute(200, a.copyManyLinks)).withAuth(sessionOrKeyAuth).
			withSummary("Copy-links of up to 100 files and folders, each with its own result").
			withFaults(fault.Conflict).
			asAddition(),
		del("/api/files/{id}", jsonRoute(200, a.deleteFile)).withAuth(sessionOrKeyAuth).
			withSummary("Delete a file or folder permanently").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound, fault.Conflict),
		get("/api/files/{id}/versions", jsonRoute(200, a.listVersions)).withAuth(sessionOrKeyAuth).withCompression().
			withSummary("The contents that a file had before they were replaced").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound).asAddition(),
		get("/api/files/{id}/versions/{until}/download", jsonRoute(200, a.downloadVersion)).withAuth(sessionOrKeyAuth).
			withLimit(transferLimit).withSummary("A download address of a version of a file").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound, fault.Conflict).asAddition(),
		post("/api/files/{id}/versions/{until}/restore", jsonRoute(200, a.restoreVersion)).withAuth(sessionOrKeyAuth).
			withSummary("Give a file the content of one of its versions").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound, fault.Conflict, fault.QuotaExceeded).
			asAddition(),
		del("/api/files/{id}/versions/{until}", jsonRoute(200, a.dropVersion)).withAuth(sessionOrKeyAuth).
			withSummary("Delete a version of a file for good").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound).asAddition(),
		post("/api/files/{id}/rewind", jsonRoute(200, a.rewind)).withAuth(sessionOrKeyAuth).
			withSummary("Bring a folder back to an earlier time, or say what that would change").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound, fault.Conflict).asAddition(),
		get("/api/trash", jsonRoute(200, a.listTrash)).withAuth(sessionOrKeyAuth).withCompression().
			withSummary("The entries in the trash that belong to the account or that it deleted").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound).asAddition(),
		post("/api/trash/{id}/restore", jsonRoute(200, a.restoreTrash)).withAuth(sessionOrKeyAuth).
			withSummary("Bring an entry back from the trash").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound, fault.AlreadyExists, fault.Conflict,
				fault.QuotaExceeded).asAddition(),
		del("/api/trash", jsonRoute(200, a.emptyTrash)).withAuth(sessionOrKeyAuth).
			withSummary("Delete everything for good that the account owns in the trash").
			withFaults(fault.Forbidden).asAddition(),
		del("/api/trash/{id}", jsonRoute(200, a.purgeTrash)).withAuth(sessionOrKeyAuth).
			withSummary("Delete an entry of the trash for good").
			withFaults(fault.Forbidden, fault.NotFound).asAddition(),
		get("/api/files/{id}/download", streamRoute("application/json", a.fileDownload)).withFind((*call).findDownload).
			withInput(fileDownloadInput{}).withReply(envelope[downloadReply]{}).withAuth(optionalAuth).
			withLimit(transferLimit).
			withSummary(
				"A single-use download address; an image or media element gets the bytes, a visitor is redirected to "+
					"the public address of the file").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound).
			withRedirect(
				"Redirect of a visitor to the public address of the file, or of an image or media element to the " +
					"file's store, if the provider has redirect on"),
		get("/api/files/{id}/thumbnail", streamRoute("image/*", a.thumbnail)).withFind((*call).findFile).
			withInput(thumbnailInput{}).withAuth(optionalAuth).withLimit(transferLimit).
			withSummary("Thumbnail of an image that the caller may download: WebP, JPEG or PNG").
			withFaults(fault.PasswordRequired, fault.Forbidden, fault.NotFound).asAddition(),
		post("/api/files/{id}/move", jsonRoute(200, a.moveFile)).withAuth(sessionOrKeyAuth).
			withSummary("Move or rename").withFaults(fault.Forbidden, fault.PasswordRequired, fault.NotFound,
			fault.Conflict),
		post("/api/files/{id}/copy", jsonRoute(200, a.copyFile)).withAuth(sessionOrKeyAuth).
			withSummary("Copy a file or folder").
			withFaults(fault.Forbidden, fault.PasswordRequired, fault.NotFound, fault.Conflict, fault.QuotaExceeded).
			asAddition(),
		get("/api/files/zip", streamRoute("application/zip", a.zipFiles)).withInput(zipInput{}).
			withAuth(sessionOrKeyAuth).withLimit(transferLimit).
			withSummary("A zip of files and folders, without those that the caller may not download").
			withFaults(fault.Invalid, fault.Forbidden, fault.NotFound).asAddition(),
		get("/api/files/jobs", jsonRoute(200, a.listJobs)).withAuth(sessionOrKeyAuth).
			withSummary("The caller's newest jobs").asAddition(),
		get("/api/files/jobs/{jobId}", jsonRoute(200, a.jobDetails)).withAuth(sessionOrKeyAuth).
			withSummary("One of the caller's jobs").withFaults(fault.NotFound),
		post("/api/files/jobs/{jobId}/pause", jsonRoute(200, a.pauseJob)).withAuth(sessionAuth).
			withSummary("Pause an evacuation").withFaults(fault.NotFound, fault.Conflict).asAddition(),
		post("/api/files/jobs/{jobId}/resume", jsonRoute(200, a.resumeJob)).withAuth(sessionAuth).
			withSummary("Resume an evacuation").withFaults(fault.NotFound, fault.Conflict).asAddition(),
		post("/api/files/batch", jsonRoute(200, a.batch)).withAuth(sessionOrKeyAuth).
			withSummary("Delete or move up to 100 files and folders, each with its own result").
			withFaults(fault.Forbidden),
		post("/api/files/{id}/link", jsonRoute(200, a.makeLink)).withAuth(sessionAuth).
			withSummary("Create the permanent link, or return the existing one").
			withFaults(fault.Forbidden, fault.NotFound).asAddition(),
		post("/api/files/links", jsonRoute(200, a.makeManyLinks)).withAuth(sessionAuth).
			withSummary("Create the permanent links of up to 100 files, or return the existing ones").asAddition(),
		del("/api/files/{id}/link", jsonRoute(200, a.revokeLink)).withAuth(sessionAuth).
			withSummary("Revoke the permanent link").withFaults(fault.Forbidden, fault.NotFound).asAddition(),

		// Upload endpoints
		post("/api/files/upload-session", jsonRoute(200, a.createSession)).withAuth(sessionOrKeyAuth).
			withLimit(transferLimit).withSummary("Begin an upload").
			withFaults(fault.Forbidden, fault.NotFound, fault.AlreadyExists, fault.Conflict, fault.QuotaExceeded),
		put("/api/files/upload/raw/{sessionId}", streamRoute("application/json", a.putRaw)).
			withReply(envelope[putRawReply]{}).withAuth(sessionOrKeyAuth).withLimit(transferLimit).withRawBody().
			withSummary("Send the bytes of a single-file session").
			withFaults(fault.NotFound, fault.Conflict, fault.UploadExpired, fault.Unverified),
		post("/api/files/upload-complete", jsonRoute(200, a.completeUpload)).withAuth(sessionOrKeyAuth).
			withLimit(transferLimit).withSummary("Complete an upload and create its file").
			withFaults(fault.Forbidden, fault.NotFound, fault.AlreadyExists, fault.Conflict, fault.UploadExpired,
				fault.QuotaExceeded, fault.Unverified),
		put("/api/files/upload/multipart/{sessionId}/part/{partNumber}", streamRoute("application/json", a.putPart)).
			withReply(envelope[putPartReply]{}).withAuth(sessionOrKeyAuth).withLimit(transferLimit).withRawBody().
			withSummary("Send one part of a multipart session").
			withFaults(fault.Invalid, fault.NotFound, fault.Conflict, fault.UploadExpired, fault.Unverified),
		get("/api/files/upload/multipart/{sessionId}/parts", jsonRoute(200, a.listParts)).withAuth(sessionOrKeyAuth).
			withLimit(transferLimit).withSummary(
			"The parts of a multipart session received so far; clients use this list to resume").
			withFaults(fault.NotFound, fault.Conflict, fault.UploadExpired),
		post("/api/files/upload/multipart/{sessionId}/renew", jsonRoute(200, a.renewUpload)).withAuth(sessionOrKeyAuth).
			withLimit(transferLimit).withSummary("Renew a multipart session for another hour, up to a day in all").
			withFaults(fault.NotFound, fault.Conflict, fault.UploadExpired).asAddition(),
		get("/api/files/upload-sessions", jsonRoute(200, a.listSessions)).withAuth(sessionOrKeyAuth).
			withLimit(transferLimit).withSummary(
			"The caller's open upload sessions, and expired ones whose parts are kept").asAddition(),
		del("/api/files/upload/multipart/{sessionId}", jsonRoute(200, a.abortUpload)).withAuth(sessionOrKeyAuth).
			withLimit(transferLimit).withSummary("Abort an upload").withFaults(fault.NotFound, fault.Conflict),

		// Compatible upload endpoints
		post("/api/upload", streamRoute("application/json", a.compatibleUpload)).
			withReply(envelope[compatibleUploadReply]{}).withAuth(uploadKeyAuth).withLimit(transferLimit).
			withUploadBody().withSummary("Upload a file in one request").withFaults(compatibleFaults...),
		options("/api/upload", streamRoute("", a.compatiblePreflight)).withAuth(noAuth).withLimit(transferLimit).
			withSummary("Preflight").asAddition(),
		post("/api/upload/upload", streamRoute("application/json", a.compatibleUpload)).
			withReply(envelope[compatibleUploadReply]{}).withAuth(uploadKeyAuth).withLimit(transferLimit).
			withUploadBody().withSummary("Upload a file in one request").withFaults(compatibleFaults...),
		options("/api/upload/upload", streamRoute("", a.compatiblePreflight)).withAuth(noAuth).withLimit(transferLimit).
			withSummary("Preflight").asAddition(),
		post("/api/compat/upload", streamRoute("application/json", a.compatibleUpload)).
			withReply(envelope[compatibleUploadReply]{}).withAuth(uploadKeyAuth).withLimit(transferLimit).
			withUploadBody().withSummary("Upload a file in one request").withFaults(compatibleFaults...),
		options("/api/compat/upload", streamRoute("", a.compatiblePreflight)).withAuth(noAuth).withLimit(transferLimit).
			withSummary("Preflight").asAddition(),

		// Share endpoints
		post("/api/shares/", jsonRoute(201, a.createShare)).withAuth(sessionAuth).withSummary("Share a file or folder").
			withFaults(fault.Forbidden, fault.PasswordRequired, fault.NotFound, fault.Conflict),
		get("/api/shares/", jsonRoute(200, a.listShares)).withAuth(sessionAuth).
			withSummary("The caller's shares, newest first"),
		get("/api/shares/{id}", jsonRoute(200, a.visitShare)).withAuth(noAuth).
			withSummary("Open a share as a visitor; each request counts as a view").
			withFaults(fault.NotFound, fault.ShareRevoked, fault.ShareExpired, fault.ShareLimitReached),
		post("/api/shares/{id}/verify", jsonRoute(200, a.verifyShare)).withAuth(noAuth).
			withSummary("Submit the password of a share, for a cookie").
			withFaults(fault.NotFound, fault.ShareRevoked, fault.ShareExpired, fault.InvalidPassword,
				fault.PasswordRequired),
		get("/api/shares/{id}/download", jsonRoute(200, a.shareDownload)).withAuth(noAuth).withLimit(transferLimit).
			withSummary("A single-use download address for a share; the download is counted when the address is used").
			withFaults(fault.NotFound, fault.ShareRevoked, fault.ShareExpired, fault.Forbidden, fault.InvalidPassword,
				fault.ShareLimitReached),
		get("/api/shares/{id}/preview", streamRoute("*/*", a.sharePreview)).withInput(sharePreviewInput{}).
			withAuth(noAuth).withLimit(transferLimit).
			withSummary("Preview of a shared image, video, audio, PDF or plain text").
			withFaults(fault.Invalid, fault.NotFound, fault.ShareExpired, fault.Forbidden, fault.InvalidPassword).
			withRedirect(storeRedirect),
		get("/api/shares/{id}/thumbnail", streamRoute("image/*", a.shareThumbnail)).withInput(shareThumbnailInput{}).
			withAuth(noAuth).withLimit(transferLimit).withSummary("Thumbnail of a shared image").
			withFaults(fault.NotFound, fault.ShareExpired, fault.Forbidden, fault.InvalidPassword).asAddition(),
		get("/api/shares/{id}/files", jsonRoute(200, a.listShare)).withAuth(noAuth).
			withSummary("List a shared folder or a folder below it").
			withFaults(fault.NotFound, fault.ShareRevoked, fault.ShareExpired, fault.InvalidPassword).asAddition(),
		get("/api/shares/{id}/revision", jsonRoute(200, a.shareRevision)).withAuth(noAuth).withLimit(transferLimit).
			withSummary("State of a share and of a folder in it, to notice changes; counts as no view").
			withFaults(fault.NotFound, fault.ShareRevoked, fault.ShareExpired, fault.InvalidPassword).asAddition(),
		get("/api/shares/{id}/size", jsonRoute(200, a.shareSize)).withAuth(noAuth).
			withSummary("Number and size of the files that a download of the whole share contains").
			withFaults(fault.NotFound, fault.ShareRevoked, fault.ShareExpired, fault.Forbidden, fault.InvalidPassword,
				fault.ShareLimitReached, fault.TooLarge).asAddition(),
		patch("/api/shares/{id}", jsonRoute(200, a.changeShare)).withAuth(sessionAuth).withSummary("Change a share").
			withFaults(fault.NotFound, fault.Forbidden, fault.PasswordRequired, fault.Conflict).asAddition(),
		del("/api/shares/{id}", jsonRoute(200, a.revokeShare)).withAuth(sessionAuth).
			withSummary("Revoke a share permanently").withFaults(fault.NotFound),

		// User endpoints
		get("/api/users/me/settings", jsonRoute(200, a.mySettings)).withAuth(sessionAuth).
			withSummary("The caller's profile, appearance and quota").withFaults(fault.NotFound),
		put("/api/users/me/settings", jsonRoute(200, a.changeMySettings)).withAuth(sessionAuth).
			withSummary("Change the caller's profile and appearance"),
		get("/api/users/me/storage", jsonRoute(200, a.myStorage)).withAuth(sessionAuth).
			withSummary("The caller's files by folder, in numbers and bytes").
			withFaults(fault.Forbidden, fault.NotFound, fault.PasswordRequired).asAddition(),
		put("/api/users/me/password", jsonRoute(200, a.changeMyPassword)).withAuth(sessionAuth).
			withSummary("Change the caller's password; this ends all sessions").withFaults(fault.InvalidPassword),
		post("/api/users/me/email/send-otp", jsonRoute(200, a.sendCode)).withAuth(sessionAuth).
			withSummary("Mail a code to a new email address").withFaults(fault.MailFailed),
		post("/api/users/me/email/verify-otp", jsonRoute(200, a.confirmCode)).withAuth(sessionAuth).
			withSummary("Confirm the new email address with the mailed code"),
		put("/api/users/me/avatar", streamRoute("application/json", a.putAvatar)).withReply(envelope[avatarReply]{}).
			withAuth(sessionAuth).withLimit(transferLimit).withRawBody().
			withSummary("Upload the picture of the caller's account, at most 5 MiB; it is made smaller").
			withFaults(fault.Invalid, fault.TooLarge, fault.Conflict, fault.Unverified).asAddition(),
		del("/api/users/me/avatar", jsonRoute(200, a.removeAvatar)).withAuth(sessionAuth).
			withSummary("Remove the uploaded picture of the caller's account").asAddition(),
		get("/api/users/me/sessions", jsonRoute(200, a.mySessions)).withAuth(sessionAuth).
			withSummary("The sessions of the caller's account, the last used first").asAddition(),
		del("/api/users/me/sessions/{id}", jsonRoute(200, a.endMySession)).withAuth(sessionAuth).
			withSummary("End a session of the caller's account").
			withFaults(fault.NotFound, fault.Conflict).asAddition(),
		del("/api/users/me/sessions", jsonRoute(200, a.endMyOtherSessions)).withAuth(sessionAuth).
			withSummary("End all sessions of the caller's account but the one of this request").
			withFaults(fault.Conflict).asAddition(),
		get("/api/users/me/notifications", jsonRoute(200, a.myNotifications)).withAuth(sessionAuth).
			withSummary("Notifications of the caller's account, newest first").asAddition(),
		post("/api/users/me/notifications/read", jsonRoute(200, a.readNotifications)).withAuth(sessionAuth).
			withSummary("Mark notifications of the caller's account as read").asAddition(),

		get("/api/users/me/favourites", jsonRoute(200, a.listFavourites)).withAuth(sessionAuth).withCompression().
			withSummary("The files and folders that the caller has starred, newest first").asAddition(),
		put("/api/users/me/favourites/{id}", jsonRoute(200, a.addFavourite)).withAuth(sessionAuth).
			withSummary("Star a file or folder").withFaults(fault.NotFound, fault.Conflict).asAddition(),
		del("/api/users/me/favourites/{id}", jsonRoute(200, a.removeFavourite)).withAuth(sessionAuth).
			withSummary("Remove the star of a file or folder").withFaults(fault.NotFound).asAddition(),

		// API key endpoints
		post("/api/keys/", jsonRoute(201, a.createKey)).withAuth(sessionAuth).
			withSummary("Create an API key; only this answer shows its secret").withFaults(fault.Forbidden),
		get("/api/keys/", jsonRoute(200, a.listKeys)).withAuth(sessionAuth).withSummary("The caller's API keys"),
		get("/api/keys/rules", jsonRoute(200, a.keyRules)).withAuth(sessionAuth).
			withSummary("The path rules that apply to the caller's keys"),
		patch("/api/keys/{id}", jsonRoute(200, a.changeKey)).withAuth(sessionAuth).withSummary("Change an API key").
			withFaults(fault.NotFound, fault.Forbidden).asAddition(),
		del("/api/keys/{id}", jsonRoute(200, a.revokeKey)).withAuth(sessionAuth).withSummary("Revoke an API key").
			withFaults(fault.NotFound),

		// Admin endpoints
		get("/api/admin/dashboard", jsonRoute(200, a.dashboard)).withAuth(adminAuth).
			withSummary("Dashboard: totals, requests in the last 24 hours, recent activity"),
		get("/api/admin/stats", jsonRoute(200, a.stats)).withAuth(adminAuth).
			withSummary("Totals and recent activity"),
		get("/api/admin/stats/series", jsonRoute(200, a.series)).withAuth(adminAuth).withCompression().
			withSummary("Time series of one metric, for charts").asAddition(),
		get("/api/admin/stats/top", jsonRoute(200, a.topDownloads)).withAuth(adminAuth).
			withSummary("The paths that were downloaded most").asAddition(),
		get("/api/admin/stats/storage", jsonRoute(200, a.storageHistory)).withAuth(adminAuth).
			withSummary("The use of each storage provider by the day").asAddition(),
		get("/api/admin/system", jsonRoute(200, a.system)).withAuth(adminAuth).
			withSummary("The state of this installation, and warnings").asAddition(),
		post("/api/admin/users", jsonRoute(201, a.createUser)).withAuth(adminAuth).withSummary("Create an account").
			withFaults(fault.AlreadyExists).asAddition(),
		get("/api/admin/users", jsonRoute(200, a.listUsers)).withAuth(adminAuth).withCompression().
			withSummary("Accounts, sorted by username"),
		put("/api/admin/users/{id}", jsonRoute(200, a.updateUser)).withAuth(adminAuth).
			withSummary("Change an account's role, status, home or quota").withFaults(fault.NotFound),
		get("/api/admin/users/{id}/impact", jsonRoute(200, a.userImpact)).withAuth(adminAuth).
			withSummary("Number of an account's sessions, keys, shares and files").withFaults(fault.NotFound).
			asAddition(),
		post("/api/admin/users/{id}/password", jsonRoute(200, a.resetPasswordOf)).withAuth(adminAuth).
			withSummary("Give another account a random password and end its sessions").
			withFaults(fault.NotFound).asAddition(),
		del("/api/admin/users/{id}", jsonRoute(200, a.deleteUser)).withAuth(adminAuth).
			withSummary("Delete an account; its files go to the calling administrator").withFaults(fault.NotFound),
		del("/api/admin/users/{id}/trash", jsonRoute(200, a.emptyTrashOf)).withAuth(adminAuth).
			withSummary("Delete everything for good that an account owns in the trash").withFaults(fault.NotFound).
			asAddition(),
		get("/api/admin/shares", jsonRoute(200, a.listAllShares)).withAuth(adminAuth).
			withSummary("Shares of all users, newest first"),
		del("/api/admin/shares/{id}", jsonRoute(200, a.revokeAnyShare)).withAuth(adminAuth).
			withSummary("Revoke a share of any user permanently").withFaults(fault.NotFound),
		get("/api/admin/files", jsonRoute(200, a.adminFiles)).withAuth(adminAuth).withCompression().
			withSummary("Files and folders of all users in all mounts"),
		get("/api/admin/settings", jsonRoute(200, a.siteSettings)).withAuth(adminAuth).withSummary("The site settings"),
		patch("/api/admin/settings", jsonRoute(200, a.changeSettings)).withAuth(adminAuth).
			withSummary("Change any of the site settings"),
		get("/api/admin/settings/impact", jsonRoute(200, a.settingsImpact)).withAuth(adminAuth).
			withSummary("Number of accounts and visitors that settings can shut out").asAddition(),
		post("/api/admin/settings/test-email", jsonRoute(200, a.testEmail)).withAuth(adminAuth).
			withSummary("Send a test message and report the mail server's answer").withFaults(fault.MailFailed),
		get("/api/admin/announcements", jsonRoute(200, a.listAnnouncements)).withAuth(adminAuth).withCompression().
			withSummary("All announcements, also expired ones, newest first"),
		post("/api/admin/announcements", jsonRoute(201, a.createAnnouncement)).withAuth(adminAuth).
			withSummary("Create an announcement").withFaults(fault.Conflict),
		put("/api/admin/announcements/{id}", jsonRoute(200, a.updateAnnouncement)).withAuth(adminAuth).
			withSummary("Change an announcement").withFaults(fault.NotFound),
		del("/api/admin/announcements/{id}", jsonRoute(200, a.deleteAnnouncement)).withAuth(adminAuth).
			withSummary("Delete an announcement").withFaults(fault.NotFound),
		get("/api/admin/invites", jsonRoute(200, a.listInvites)).withAuth(adminAuth).
			withSummary("Invite codes, newest first").asAddition(),
		post("/api/admin/invites", jsonRoute(201, a.createInvite)).withAuth(adminAuth).
			withSummary("Create an invite code").withFaults(fault.Conflict).asAddition(),
		del("/api/admin/invites/{id}", jsonRoute(200, a.deleteInvite)).withAuth(adminAuth).
			withSummary("Delete an invite code; it can't be used any more").withFaults(fault.NotFound).asAddition(),
		get("/api/admin/storage/providers", jsonRoute(200, a.listProviders)).withAuth(adminAuth).withCompression().
			withSummary("Storage providers"),
		post("/api/admin/storage/providers", jsonRoute(201, a.createProvider)).withAuth(adminAuth).
			withSummary("Create a storage provider"),
		put("/api/admin/storage/providers/{id}", jsonRoute(200, a.updateProvider)).withAuth(adminAuth).
			withSummary("Change a storage provider").withFaults(fault.NotFound, fault.Conflict),
		del("/api/admin/storage/providers/{id}", jsonRoute(200, a.deleteProvider)).withAuth(adminAuth).
			withSummary("Delete a storage provider that is empty and has no mounts").
			withFaults(fault.NotFound, fault.Conflict),
		post("/api/admin/storage/providers/{id}/test", jsonRoute(200, a.testProvider)).withAuth(adminAuth).asReadOnly().
			withSummary("Test the store of a provider").withFaults(fault.NotFound),
		post("/api/admin/storage/providers/{id}/evacuate", jsonRoute(202, a.evacuateProvider)).withAuth(adminAuth).
			withSummary("Move all objects of a provider to another one").withFaults(fault.NotFound, fault.Conflict).
			asAddition(),
		get("/api/admin/mounts", jsonRoute(200, a.listMounts)).withAuth(adminAuth).withCompression().withSummary("Mounts"),
		post("/api/admin/mounts", jsonRoute(201, a.createMount)).withAuth(adminAuth).withSummary("Create a mount").
			withFaults(fault.Conflict),
		put("/api/admin/mounts/{id}", jsonRoute(200, a.updateMount)).withAuth(adminAuth).withSummary("Change a mount").
			withFaults(fault.NotFound, fault.Conflict),
		del("/api/admin/mounts/{id}", jsonRoute(200, a.deleteMount)).withAuth(adminAuth).
			withSummary("Delete a mount without files, and its folders").withFaults(fault.NotFound, fault.Conflict),
		post("/api/admin/mounts/{id}/evacuate", jsonRoute(202, a.evacuateMount)).withAuth(adminAuth).
			withSummary("Move all objects of a mount to another provider").withFaults(fault.NotFound, fault.Conflict).
			asAddition(),
		get("/api/admin/evacuations", jsonRoute(200, a.listEvacuations)).withAuth(adminAuth).
			withSummary("The newest evacuations, of all administrators").asAddition(),
		get("/api/admin/evacuations/{jobId}", jsonRoute(200, a.evacuationDetails)).withAuth(adminAuth).
			withSummary("An evacuation, and how far it is").withFaults(fault.NotFound).asAddition(),
		get("/api/admin/rules", jsonRoute(200, a.listRules)).withAuth(adminAuth).withCompression().
			withSummary("Permission rules"),
		post("/api/admin/rules", jsonRoute(201, a.createRule)).withAuth(adminAuth).
			withSummary("Create a permission rule"),
		put("/api/admin/rules/{id}", jsonRoute(200, a.updateRule)).withAuth(adminAuth).
			withSummary("Change a permission rule").withFaults(fault.NotFound),
		del("/api/admin/rules/{id}", jsonRoute(200, a.deleteRule)).withAuth(adminAuth).
			withSummary("Delete a permission rule").withFaults(fault.NotFound),
		post("/api/admin/rules/explain", jsonRoute(200, a.explainRules)).withAuth(adminAuth).asReadOnly().
			withSummary("Explain a permission decision").withFaults(fault.NotFound).asAddition(),
		get("/api/admin/logs", jsonRoute(200, a.listLogs)).withAuth(adminAuth).withCompression().
			withSummary("The access log, newest first"),

		// Free-mode endpoints
		post("/api/free-mode/init", jsonRoute(201, a.freeInit)).withAuth(noAuth).withLimit(authLimit).asFreeMode().
			withSummary("Begin a free-mode session with the visitor's own bucket").
			withFaults(fault.Forbidden, fault.ConnectionRefused),
		get("/api/free-mode/session", jsonRoute(200, a.freeSession)).withAuth(freeModeAuth).asFreeMode().
			withSummary("The free-mode session, as returned by init").asAddition(),
		get("/api/free-mode/files", jsonRoute(200, a.freeList)).withAuth(freeModeAuth).asFreeMode().
			withSummary("List a folder of the bucket"),
		get("/api/free-mode/download", streamRoute("*/*", a.freeDownload)).withInput(freeKeyInput{}).
			withAuth(freeModeAuth).asFreeMode().withLimit(transferLimit).
			withSummary("Download an object as an attachment").withFaults(fault.Invalid, fault.NotFound).
			asAddition(),
		post("/api/free-mode/upload", streamRoute("application/json", a.freeUpload).withStatus(201)).
			withInput(freeUploadInput{}).withReply(envelope[freeUploadReply]{}).withAuth(freeModeAuth).asFreeMode().
			withLimit(transferLimit).withUploadBody().withSummary("Store a file in the bucket").
			withFaults(fault.TooLarge, fault.Unverified),
		del("/api/free-mode/object", jsonRoute(200, a.freeDelete)).withAuth(freeModeAuth).asFreeMode().
			withSummary("Delete an object"),
		post("/api/free-mode/logout", jsonRoute(200, a.freeLogout)).withAuth(noAuth).
			withSummary("End the free-mode session").withFaults(fault.InvalidCSRF, fault.Forbidden),

		// Download gateway, permanent links
		get("/api/gateway/download/{token}", streamRoute("*/*", a.gateway)).withAuth(noAuth).withLimit(transferLimit).
			withSummary("Redeem a download token").
			withFaults(fault.InvalidToken, fault.PasswordRequired, fault.NotFound, fault.ShareLimitReached,
				fault.TooLarge).withRedirect(storeRedirect),
		get("/api/i/{link}", streamRoute("*/*", a.permanentLink)).withAuth(noAuth).withLimit(transferLimit).
			withSummary("Get the file of a permanent link").withFaults(fault.NotFound).asAddition().
			withRedirect(storeRedirect),
		get("/api/i/{link}/thumbnail", streamRoute("image/*", a.linkThumbnail)).withInput(linkThumbnailInput{}).
			withAuth(noAuth).withLimit(transferLimit).
			withSummary("Thumbnail of the image behind a permanent link").withFaults(fault.NotFound).
			asAddition(),

		// Public endpoints
		get("/api/public/settings", jsonRoute(200, a.publicSettings)).withAuth(noAuth).
			withSummary("The site settings that visitors may read"),
		get("/api/public/features", jsonRoute(200, a.publicFeatures)).withAuth(noAuth).
			withSummary("The features that are on").asAddition(),
		get("/api/public/announcements", jsonRoute(200, a.publicAnnouncements)).withAuth(noAuth).
			withSummary("Announcements that have not expired, the newest first"),
		post("/api/public/unlock", jsonRoute(200, a.unlock)).withAuth(optionalAuth).
			withSummary("Submit the password of the file or folder at a path").
			withFaults(fault.InvalidPassword, fault.PasswordRequired, fault.Forbidden).asAddition(),
		get("/api/public/files", jsonRoute(200, a.listPublicFiles)).withAuth(noAuth).withCompression().
			withSummary("List or search a folder as a visitor without an account").
			withFaults(fault.Unauthorized, fault.PasswordRequired, fault.NotFound).asAddition(),
		get("/api/public/files/revision", jsonRoute(200, a.publicFolderRevision)).withAuth(noAuth).
			withLimit(transferLimit).withSummary("State of a folder's listing for visitors, to notice changes").
			withFaults(fault.Unauthorized, fault.PasswordRequired, fault.NotFound).asAddition(),
		get("/api/public/avatars/{id}", streamRoute("image/*", a.avatar)).withInput(avatarInput{}).withAuth(noAuth).
			withLimit(transferLimit).withSummary("The picture of an account").withFaults(fault.NotFound).asAddition(),
		get("/api/public/oembed", streamRoute("application/json", a.oembed)).withInput(oembedInput{}).
			withReply(oembedReply{}).withAuth(noAuth).
			withSummary("Description of a share without password and limit of views (oEmbed 1.0)").
			withFaults(fault.InvalidPassword, fault.Forbidden, fault.NotFound, fault.ShareRevoked, fault.ShareExpired).
			asAddition(),
		get("/api/public/health", streamRoute("application/json", a.health)).withReply(healthReply{}).withAuth(noAuth).
			asProbe().withSummary("Health"),
		get("/api/public/health/live", streamRoute("application/json", a.live)).withReply(healthReply{}).
			withAuth(noAuth).asProbe().withSummary("Liveness"),
		get("/api/public/health/ready", streamRoute("application/json", a.ready)).withReply(healthReply{}).
			withAuth(noAuth).asProbe().withSummary("Readiness"),
		get("/api/openapi.json", streamRoute("application/json", a.openapiDocument)).withReply(map[string]any{}).
			withAuth(noAuth).withCompression().withSummary("This document").asAddition(),
	}
}

const logoutPath = "/api/auth/logout"

// storeRedirect describes the redirect to the store for providers with the redirect flag.
const storeRedirect = "Redirect to the file's store, if the provider has redirect on; this service answers HEAD"

var compatibleFaults = []fault.Kind{fault.InvalidToken, fault.Forbidden, fault.TooLarge, fault.QuotaExceeded,
	fault.Unverified}

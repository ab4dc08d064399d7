package download

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/share"
	"larder/internal/vpath"
)

// What the archive of a shared folder holds at most: whoever has the address may ask for it, and
// has all of it read.
const (
	MaxSharedFiles = 10_000
	MaxSharedBytes = 20 << 30
)

// IssueShared makes a token for what a visitor may have of a share: its file, its folder, or a file
// in that, by its id. It is nobody's, belongs to the share, and carries those of the passwords
// given that the share asks for. Faults: Forbidden (the share gives no downloads, or its creator
// may not), InvalidPassword, ShareLimitReached, NotFound (also for what lies elsewhere, and for
// what is not shown of a folder).
func (s *Service) IssueShared(ctx context.Context, v share.Visit, given []string,
	entryID string) (token string, err error) {
	if err := s.CheckIssueShared(ctx, v, entryID); err != nil {
		return "", err
	}
	r := row{entryID: entryID, shareID: v.ID, purpose: Save, expiresAt: s.now().Add(Lifetime).UnixMilli()}
	for _, lock := range v.Passwords {
		if slices.Contains(given, lock.ID) {
			r.proof = append(r.proof, lock.ID)
		}
	}
	token = s.ids.Base62(tokenLength)
	now := s.now().UnixMilli()
	if err := s.db.Write(ctx, func(tx *db.Tx) error { return insertEvicting(tx, hash(token), r, now) }); err != nil {
		return "", fmt.Errorf("issue a download token of a share: %w", err)
	}
	return token, nil
}

// CheckIssueShared decides whether IssueShared would make a token, and makes none.
// Faults: those of IssueShared.
func (s *Service) CheckIssueShared(ctx context.Context, v share.Visit, entryID string) error {
	if !v.AllowDownload {
		return fault.New(fault.Forbidden, "Downloads of this share are switched off.")
	}
	if !v.Authorized {
		return fault.New(fault.InvalidPassword, "Give the password first.")
	}
	if exhausted(v) {
		return share.LimitReached()
	}
	_, err := s.findShared(ctx, v, entryID)
	return asInvalidPassword(err)
}

// exhausted reports a share that nothing more can be downloaded from; when a token is used
// up the database decides.
func exhausted(v share.Visit) bool {
	return v.MaxDownloads != nil && v.DownloadCount >= *v.MaxDownloads
}

// PreviewShared finds the file that a share shows: its own, or by its id one in its folder. What
// kinds of files are shown is not decided here. Faults: Forbidden (the share shows none, a folder),
// InvalidPassword, NotFound (as IssueShared).
func (s *Service) PreviewShared(ctx context.Context, v share.Visit, entryID string) (files.Content, error) {
	if !v.AllowPreview {
		return files.Content{}, fault.New(fault.Forbidden, "Previews of this share are switched off.")
	}
	if !v.Authorized {
		return files.Content{}, fault.New(fault.InvalidPassword, "Give the password first.")
	}
	p, err := s.findShared(ctx, v, entryID)
	if err == nil && p.folder {
		err = fault.New(fault.Forbidden, "A folder has no preview.")
	}
	return p.content, asInvalidPassword(err)
}

// asInvalidPassword tells of a password what shares tell: one has come meanwhile.
func asInvalidPassword(err error) error {
	if fault.Is(err, fault.PasswordRequired) {
		return fault.New(fault.InvalidPassword, "Give the password first.").WithCause(err)
	}
	return err
}

// sharedContent is what a share gives under an id.
type sharedContent struct {
	content files.Content // of a file
	folder  bool          // all of the shared folder: there is no content
	path    vpath.Path
}

// findShared finds what a share gives: its entry, or a file in its folder. It is judged as its
// creator; what they may not read and download, or not without a password that was not given, is
// not there when it lies in the folder, nor is a folder. Faults: NotFound; Forbidden and
// PasswordRequired for the share's own entry.
func (s *Service) findShared(ctx context.Context, v share.Visit, entryID string) (p sharedContent, err error) {
	found, err := s.tree.FindBelow(ctx, v.EntryID, entryID)
	if err != nil {
		return sharedContent{}, err
	}
	p.path, _ = found.Path()
	switch {
	case entryID != v.EntryID:
		p.content, err = found.SharedContentFor(v.Creator)
		if fault.Is(err, fault.Forbidden) || fault.Is(err, fault.PasswordRequired) {
			err = fault.New(fault.NotFound, "There is no such file or folder.").WithCause(err)
		}
	case found.IsFolder():
		p.folder, err = true, found.AuthorizeFolder(v.Creator)
	default:
		p.content, err = found.ContentFor(v.Creator)
	}
	return p, err
}

// resolveShared is Look for a token of a share. It is judged as one that was asked for now, save
// that what has ended the share has made the token invalid.
func (s *Service) resolveShared(ctx context.Context, r row, ip netip.Addr) (Redemption, error) {
	visit, err := s.visitShare(ctx, r, ip)
	if err != nil {
		return Redemption{}, err
	}
	if exhausted(visit) {
		return Redemption{}, share.LimitReached()
	}
	p, err := s.findShared(ctx, visit, r.entryID)
	if fault.Is(err, fault.Forbidden) {
		err = invalidToken().WithCause(err)
	}
	if err != nil {
		return Redemption{}, err
	}
	redemption := Redemption{Purpose: r.purpose, Path: p.path, ShareID: r.shareID, Content: p.content}
	if p.folder {
		redemption.Folder = &files.ArchiveQuery{
			IDs: []string{r.entryID}, MaxFiles: MaxSharedFiles, MaxBytes: MaxSharedBytes, Shared: true,
			ReloadActor: true, // a share ends or is shut without another config
			ActorAt: func(ctx context.Context, _ int64) (access.Actor, error) {
				visit, err := s.visitShare(ctx, r, ip)
				return visit.Creator, err
			},
		}
	}
	return redemption, nil
}

// visitShare finds the share of a token as its holder does. Faults: InvalidToken when it has
// ended, gives no downloads any more or has another password since; PasswordRequired for another
// one that was not given.
func (s *Service) visitShare(ctx context.Context, r row, ip netip.Addr) (share.Visit, error) {
	visit, err := s.shares.Visit(ctx, r.shareID, share.Visitor{IP: ip, PasswordIDs: r.proof})
	switch {
	case fault.Is(err, fault.ShareRevoked), fault.Is(err, fault.ShareExpired):
		return share.Visit{}, invalidToken().WithCause(err)
	case err != nil:
		return share.Visit{}, err
	case !visit.AllowDownload, visit.PasswordID != "" && !slices.Contains(r.proof, visit.PasswordID):
		return share.Visit{}, invalidToken()
	case !visit.Authorized:
		return share.Visit{}, fault.New(fault.PasswordRequired, "A password is required.")
	}
	return visit, nil
}

// countDownload counts the download that a token of a share was used up for, in the same
// transaction, so that neither happens without the other. Faults: ShareLimitReached, InvalidToken.
func (s *Service) countDownload(tx *db.Tx, shareID string) error {
	err := s.shares.CountDownload(tx, shareID)
	switch fault.KindOf(err) {
	case fault.NotFound, fault.ShareRevoked, fault.ShareExpired:
		return invalidToken().WithCause(err)
	}
	return err
}

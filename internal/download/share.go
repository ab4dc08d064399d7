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

// Limits of the archive of a shared folder. Any visitor of a share may ask for one, and the service
// then reads all of its files.
const (
	MaxSharedFiles = 10_000
	MaxSharedBytes = 20 << 30
)

// Shared names what a visitor of a share asks for: the shared file or folder, a file in that folder
// by its id, or some files in it, which are sent as one archive.
type Shared struct {
	EntryID  string
	Selected []string // ids of files in the shared folder EntryID; nil for the entry itself
}

// IssueShared creates a token for a visitor of a share. The token belongs to the share and to no
// account. Its proof are those of the given passwords that the share asks for. An archive of
// selected files leaves out those that the visitor may not have when it is sent. Faults: Forbidden
// (the share allows no downloads, or its creator may not download), InvalidPassword,
// ShareLimitReached, NotFound (also for an entry outside of the share, for one that the share does
// not show, and for a selection without any file of the share).
func (s *Service) IssueShared(ctx context.Context, v share.Visit, given []string,
	wanted Shared) (token string, err error) {
	if err := s.CheckIssueShared(ctx, v, wanted); err != nil {
		return "", err
	}
	r := row{entryID: wanted.EntryID, selected: wanted.Selected, shareID: v.ID, purpose: Save,
		expiresAt: s.now().Add(Lifetime).UnixMilli()}
	for _, password := range v.Passwords {
		if slices.Contains(given, password.ID) {
			r.proof = append(r.proof, password.ID)
		}
	}
	token = s.ids.Base62(tokenLength)
	now := s.now().UnixMilli()
	if err := s.db.Write(ctx, func(tx *db.Tx) error { return insertEvicting(tx, hash(token), r, now) }); err != nil {
		return "", fmt.Errorf("issue a download token of a share: %w", err)
	}
	return token, nil
}

// CheckIssueShared reports whether IssueShared would succeed, without creating a token. Faults:
// those of IssueShared.
func (s *Service) CheckIssueShared(ctx context.Context, v share.Visit, wanted Shared) error {
	if !v.AllowDownload {
		return fault.New(fault.Forbidden, "Downloads of this share are switched off.")
	}
	if !v.Authorized {
		return fault.New(fault.InvalidPassword, "Enter the password first.")
	}
	if exhausted(v) {
		return share.LimitReached()
	}
	p, err := s.findShared(ctx, v, wanted.EntryID)
	if err != nil || wanted.Selected == nil {
		return asInvalidPassword(err)
	}
	for _, id := range wanted.Selected {
		if !p.folder || id == wanted.EntryID { // a selection is of files in a folder
			continue
		}
		if _, err := s.findShared(ctx, v, id); !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return fault.New(fault.NotFound, "The share has none of these files.")
}

// exhausted reports whether the share has no downloads left of its limit. This is an early check:
// the database decides when a token is used up.
func exhausted(v share.Visit) bool {
	return v.MaxDownloads != nil && v.DownloadCount >= *v.MaxDownloads
}

// PreviewShared returns the content of the shared file, or of the file with the id entryID in the
// shared folder. The caller decides which kinds of files can be previewed. Faults: Forbidden (the
// share allows no previews, or the entry is a folder), InvalidPassword, NotFound (as IssueShared).
func (s *Service) PreviewShared(ctx context.Context, v share.Visit, entryID string) (files.Content, error) {
	if !v.AllowPreview {
		return files.Content{}, fault.New(fault.Forbidden, "Previews of this share are switched off.")
	}
	if !v.Authorized {
		return files.Content{}, fault.New(fault.InvalidPassword, "Enter the password first.")
	}
	p, err := s.findShared(ctx, v, entryID)
	if err == nil && p.folder {
		err = fault.New(fault.Forbidden, "A folder has no preview.")
	}
	return p.content, asInvalidPassword(err)
}

// asInvalidPassword turns PasswordRequired into InvalidPassword, the fault that shares use, and
// returns all other errors unchanged. PasswordRequired happens when a password was set after the
// visit was authorized.
func asInvalidPassword(err error) error {
	if fault.Is(err, fault.PasswordRequired) {
		return fault.New(fault.InvalidPassword, "Enter the password first.").WithCause(err)
	}
	return err
}

// sharedContent is the file or folder that a share gives for an id.
type sharedContent struct {
	content files.Content // of a file
	folder  bool          // the whole shared folder; content is unset
	path    vpath.Path
}

// findShared returns the share's own entry, or the file with the id entryID in its folder. The
// permissions are those of the share's creator. A file in the folder that the creator may not read
// and download, or that needs a password that was not given, counts as missing; so does a folder in
// it. Faults: NotFound; Forbidden and PasswordRequired for the share's own entry.
func (s *Service) findShared(ctx context.Context, v share.Visit, entryID string) (p sharedContent, err error) {
	found := v.Found
	if entryID != v.EntryID {
		if found, err = s.tree.FindBelow(ctx, v.EntryID, entryID); err != nil {
			return sharedContent{}, err
		}
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

// resolveShared returns what a token of a share gives access to, without using it up, for a visitor
// from the address ip. The rules are those for issuing the token now. Faults: those of Resolve;
// InvalidToken when the share has ended.
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
			ReloadActor: true, // a share can end or change without a new config version
			ActorAt: func(ctx context.Context, _ int64) (access.Actor, error) {
				visit, err := s.visitShare(ctx, r, ip)
				return visit.Creator, err
			},
		}
		if r.selected != nil {
			redemption.Folder.IDs, redemption.Folder.Within = r.selected, r.entryID
		}
	}
	return redemption, nil
}

// visitShare authorizes the holder of the token r for its share, as a visitor from the address ip.
// Faults: InvalidToken when the share has ended, allows no downloads any more or has got another
// password; PasswordRequired for any other password that was not given.
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

// countDownload counts the download for which a share's token is used up, in the same transaction,
// so that both happen or neither. Faults: ShareLimitReached, InvalidToken.
func (s *Service) countDownload(tx *db.Tx, shareID string) error {
	err := s.shares.CountDownload(tx, shareID)
	switch fault.KindOf(err) {
	case fault.NotFound, fault.ShareRevoked, fault.ShareExpired:
		return invalidToken().WithCause(err)
	}
	return err
}

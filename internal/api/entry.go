package api

import (
	"cmp"
	"encoding/base64"

	"larder/internal/files"
)

// entryReply is a file or folder (specification: File or folder entry, with the additions of
// listings).
type entryReply struct {
	ID             string   `json:"id" required:"true"`
	Name           string   `json:"name" required:"true"`
	Path           string   `json:"path" required:"true" description:"Path of the parent folder."`
	Type           string   `json:"type" required:"true" enum:"file,folder"`
	Size           int64    `json:"size" required:"true" description:"Bytes."`
	MimeType       string   `json:"mimeType,omitempty"`
	HasPassword    bool     `json:"hasPassword" required:"true"`
	OwnerID        string   `json:"ownerId,omitempty"`
	CustomTitle    *string  `json:"customTitle"`
	CustomColor    *string  `json:"customColor"`
	CoverURL       *string  `json:"coverUrl"`
	IconEmoji      *string  `json:"iconEmoji"`
	ManualPosition *int64   `json:"manualPosition"`
	Public         bool     `json:"public"`
	Permissions    []string `json:"permissions" required:"true"`
	CreatedAt      int64    `json:"createdAt" required:"true"`
	UpdatedAt      int64    `json:"updatedAt" required:"true"`
	Width          int      `json:"width,omitempty" description:"Pixels, as a viewer shows the picture. Only of a picture that was examined, in listings, searches, timelines, details, favourites and recent files, for callers who may download it."`
	Height         int      `json:"height,omitempty" description:"Pixels; as width."`
	Orientation    int      `json:"orientation,omitempty" minimum:"1" maximum:"8" description:"EXIF orientation, which width and height already take into account; with width."`
	TakenAt        int64    `json:"takenAt,omitempty" description:"ms; EXIF DateTimeOriginal or DateTimeDigitized, in UTC if the picture states no offset; else createdAt; with width."`
	Thumbhash      string   `json:"thumbhash,omitempty" description:"ThumbHash in base64: a blurred preview; with width, if there is one."`
	Covers         []string `json:"covers,omitempty" maxItems:"4" description:"Ids of pictures directly in the folder that stand for it: of its first eight by name, those that the caller may download and that have no password of their own. Only of folders without coverUrl, in listings, searches and favourites."`
	Favourite      bool     `json:"favourite,omitempty" description:"Whether it is a favourite of the account. Only in listings, searches, timelines, details, favourites and recent files, and only for sessions."`
}

func viewEntry(e files.Entry) entryReply {
	reply := entryReply{
		ID: e.ID, Name: e.Name, Path: e.Dir.String(), Type: "file", Size: e.Size, MimeType: e.MimeType,
		HasPassword: e.HasPassword, OwnerID: e.OwnerID, CustomTitle: e.CustomTitle, CustomColor: e.CustomColor,
		CoverURL: e.CoverURL, IconEmoji: e.IconEmoji, ManualPosition: e.ManualPosition, Public: e.Public,
		Permissions: e.Permissions.Names(), CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
		Covers: e.Covers,
	}
	if e.Folder {
		reply.Type, reply.MimeType = "folder", ""
	}
	if p := e.Picture; p != nil {
		reply.Width, reply.Height, reply.Orientation = p.Width, p.Height, p.Orientation
		reply.TakenAt = cmp.Or(p.TakenAt, e.CreatedAt)
		reply.Thumbhash = base64.StdEncoding.EncodeToString(p.ThumbHash)
	}
	return reply
}

package api

import (
	"larder/internal/files"
	"larder/internal/vpath"
)

type myStorageInput struct {
	Path *string `query:"path" json:"-" default:"/"`
}

// myStorageFolder is a folder with files of the caller at any depth.
type myStorageFolder struct {
	Name  string `json:"name" required:"true"`
	Path  string `json:"path" required:"true"`
	Files int64  `json:"files" required:"true" description:"Files of the caller in the folder and below it."`
	Size  int64  `json:"size" required:"true" description:"Bytes."`
}

type myStorageReply struct {
	Files   int64             `json:"files" required:"true" description:"Files of the caller directly in the folder."`
	Size    int64             `json:"size" required:"true" description:"Bytes."`
	Folders []myStorageFolder `json:"folders" required:"true" description:"Folders with files of the caller, the largest ones first."`
}

// myStorage handles GET /api/users/me/storage: the number and bytes of the caller's files directly
// in a folder and in each folder below it. It counts against the limit of zips that run at a time,
// because it reads as much of the tree as one. Faults: RateLimited, and those of
// files.Tree.OwnStorage.
func (a *API) myStorage(c *call, in myStorageInput) (myStorageReply, error) {
	path, err := vpath.Parse(valueOr(in.Path, "/"))
	if err != nil {
		return myStorageReply{}, err
	}
	release, err := acquireZip(a.zipLimit, accountSource(c.user.ID))
	if err != nil {
		return myStorageReply{}, err
	}
	defer release()
	found, err := a.Tree.OwnStorage(c.ctx(), c.actor, path)
	if err != nil {
		return myStorageReply{}, err
	}
	return viewMyStorage(found), nil
}

// viewMyStorage translates the caller's use of storage into its JSON form.
func viewMyStorage(found files.OwnStorage) myStorageReply {
	reply := myStorageReply{found.Here.Files, found.Here.Bytes, make([]myStorageFolder, len(found.Folders))}
	for i, folder := range found.Folders {
		reply.Folders[i] = myStorageFolder{folder.Name, folder.Path.String(), folder.Files, folder.Bytes}
	}
	return reply
}

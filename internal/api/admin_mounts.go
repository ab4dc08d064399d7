package api

import (
	"larder/internal/fault"
	"larder/internal/lifecycle"
	"larder/internal/mount"
	"larder/internal/vpath"
)

// adminMountReply is a mount as administrators see it.
type adminMountReply struct {
	ID           string `json:"id" required:"true"`
	ProviderID   string `json:"providerId" required:"true"`
	ProviderName string `json:"providerName" required:"true"`
	MountPath    string `json:"mountPath" required:"true"`
	Name         string `json:"name" required:"true"`
	SortBy       string `json:"sortBy" required:"true" enum:"name,time,size,manual"`
	SortOrder    string `json:"sortOrder" required:"true" enum:"asc,desc"`
	Priority     int    `json:"priority" required:"true"`
	Hidden       bool   `json:"hidden" required:"true" description:"true when other mounts cover this one completely."`
	Public       bool   `json:"public" required:"true" description:"true when anybody may download from its path."`
	CreatedAt    int64  `json:"createdAt" required:"true"`
	UpdatedAt    int64  `json:"updatedAt" required:"true"`
}

// viewAdminMount translates a mount into its JSON form. During an evacuation it shows the old
// provider, which administrators see until the end.
func viewAdminMount(m lifecycle.Mount) adminMountReply {
	return adminMountReply{
		ID: m.ID, ProviderID: m.RecordedProviderID(), ProviderName: m.ProviderName, MountPath: m.Path.String(),
		Name:      m.Name,
		SortBy:    m.SortBy,
		SortOrder: m.SortOrder, Priority: m.Priority, Hidden: m.Hidden, Public: m.Public,
		CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
	}
}

type listMountsReply struct {
	Mounts []adminMountReply `json:"mounts" required:"true"`
}

// listMounts handles GET /api/admin/mounts: all mounts, which are the places of the tree that are
// bound to providers.
func (a *API) listMounts(c *call, _ struct{}) (listMountsReply, error) {
	mounts, err := a.Lifecycle.AllMounts(c.ctx())
	reply := listMountsReply{Mounts: []adminMountReply{}}
	for _, m := range mounts {
		reply.Mounts = append(reply.Mounts, viewAdminMount(m))
	}
	return reply, err
}

type createMountInput struct {
	ProviderID *string `json:"providerId" required:"true"`
	MountPath  *string `json:"mountPath" required:"true"`
	Name       *string `json:"name" required:"true" maxLength:"255"`
	SortBy     *string `json:"sortBy" enum:"name,time,size,manual" default:"name"`
	SortOrder  *string `json:"sortOrder" enum:"asc,desc" default:"asc"`
	Priority   *int64  `json:"priority" minimum:"-1000000" maximum:"1000000" default:"0" description:"Where mounts overlap, the one with the higher priority wins."`
}

type updateMountInput struct {
	ID         string  `path:"id" json:"-"`
	ProviderID *string `json:"providerId" minLength:"1" description:"Provider of new objects; stored objects stay where they are."`
	MountPath  *string `json:"mountPath" minLength:"1"`
	Name       *string `json:"name" minLength:"1" maxLength:"255"`
	SortBy     *string `json:"sortBy" enum:"name,time,size,manual"`
	SortOrder  *string `json:"sortOrder" enum:"asc,desc"`
	Priority   *int64  `json:"priority" minimum:"-1000000" maximum:"1000000"`
}

type oneMountReply struct {
	Mount adminMountReply `json:"mount" required:"true"`
}

// createMount handles POST /api/admin/mounts: it binds a place in the tree to a provider. Without
// the optional fields the mount is sorted by name, ascending, and has the priority 0.
func (a *API) createMount(c *call, in createMountInput) (oneMountReply, error) {
	m := mount.Mount{SortBy: "name", SortOrder: "asc"}
	change := updateMountInput{
		ProviderID: in.ProviderID, MountPath: in.MountPath, Name: in.Name, SortBy: in.SortBy, SortOrder: in.SortOrder,
		Priority: in.Priority,
	}
	if err := change.apply(&m); err != nil {
		return oneMountReply{}, err
	}
	made, err := a.Lifecycle.CreateMount(c.ctx(), c.actor.UserID, m)
	return oneMountReply{viewAdminMount(made)}, err
}

// updateMount handles PUT /api/admin/mounts/{id}: it changes the given fields. A changed provider
// applies to new objects only.
func (a *API) updateMount(c *call, in updateMountInput) (oneMountReply, error) {
	changed, err := a.Lifecycle.UpdateMount(c.ctx(), in.ID, in.apply)
	return oneMountReply{viewAdminMount(changed)}, err
}

// apply copies the fields that the request has into the mount and leaves the others unchanged. It
// checks only the syntax of the path; the caller that stores the mount checks it as a whole. Fault:
// Invalid.
func (in updateMountInput) apply(m *mount.Mount) error {
	if in.MountPath != nil {
		path, err := vpath.Parse(*in.MountPath)
		if err != nil {
			return fault.InField(err, "mountPath")
		}
		m.Path = path
	}
	m.ProviderID = valueOr(in.ProviderID, m.ProviderID)
	m.Name = valueOr(in.Name, m.Name)
	m.SortBy = valueOr(in.SortBy, m.SortBy)
	m.SortOrder = valueOr(in.SortOrder, m.SortOrder)
	m.Priority = int(valueOr(in.Priority, int64(m.Priority)))
	return nil
}

// deleteMount handles DELETE /api/admin/mounts/{id}: it deletes a mount and its folders; lifecycle
// refuses one that has files with Conflict.
func (a *API) deleteMount(c *call, in idInput) (none, error) {
	return none{}, a.Lifecycle.DeleteMount(c.ctx(), in.ID)
}

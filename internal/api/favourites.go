package api

type favouriteReply struct {
	Favourite bool `json:"favourite" required:"true"`
}

// addFavourite handles PUT /api/users/me/favourites/{id}: it stars a file or folder. Faults: those
// of files.Tree.AddFavourite.
func (a *API) addFavourite(c *call, in idInput) (favouriteReply, error) {
	if err := a.Tree.AddFavourite(c.ctx(), c.actor, in.ID); err != nil {
		return favouriteReply{}, err
	}
	return favouriteReply{true}, nil
}

// removeFavourite handles DELETE /api/users/me/favourites/{id}: it removes the star, if there is
// one. Faults: those of files.Tree.RemoveFavourite.
func (a *API) removeFavourite(c *call, in idInput) (favouriteReply, error) {
	return favouriteReply{false}, a.Tree.RemoveFavourite(c.ctx(), c.actor, in.ID)
}

type listFavouritesInput struct {
	Page  *int64 `query:"page" json:"-" minimum:"1" maximum:"1000000" default:"1"`
	Limit *int64 `query:"limit" json:"-" minimum:"1" maximum:"1000" default:"100"`
}

type listFavouritesReply struct {
	Items      []entryReply `json:"items" required:"true" description:"Newest star first. Without those that the account may not read, or that are in the trash."`
	Pagination pagination   `json:"pagination" required:"true"`
}

// listFavourites handles GET /api/users/me/favourites: a page of the caller's favourites.
func (a *API) listFavourites(c *call, in listFavouritesInput) (listFavouritesReply, error) {
	page, limit := valueOr(in.Page, 1), valueOr(in.Limit, 100)
	listing, err := a.Tree.ListFavourites(c.ctx(), c.actor, int(page), int(limit))
	if err != nil {
		return listFavouritesReply{}, err
	}
	reply := listFavouritesReply{make([]entryReply, len(listing.Items)), paginate(int64(listing.Total), page, limit)}
	for i, entry := range listing.Items {
		reply.Items[i] = viewEntry(entry)
		reply.Items[i].Favourite = true
	}
	return reply, nil
}

type recentFilesInput struct {
	Limit *int64 `query:"limit" json:"-" minimum:"1" maximum:"100" default:"100"`
}

type recentFilesReply struct {
	Items []entryReply `json:"items" required:"true" description:"Newest first."`
}

// recentFiles handles GET /api/files/recent: the caller's own files that were stored or changed
// last.
func (a *API) recentFiles(c *call, in recentFilesInput) (recentFilesReply, error) {
	if err := c.requirePermission("read"); err != nil {
		return recentFilesReply{}, err
	}
	entries, err := a.Tree.ListRecent(c.ctx(), c.actor, int(valueOr(in.Limit, 100)))
	if err != nil {
		return recentFilesReply{}, err
	}
	reply := recentFilesReply{make([]entryReply, len(entries))}
	for i, entry := range entries {
		reply.Items[i] = viewEntry(entry)
	}
	return reply, c.markFavourites(len(reply.Items), func(i int) *entryReply { return &reply.Items[i] })
}

// markFavourites sets Favourite of those of n entries that are favourites of the session's account;
// at returns the entry with an index. It does nothing for an API key.
func (c *call) markFavourites(n int, at func(i int) *entryReply) error {
	if n == 0 || c.actor.Key != nil {
		return nil
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = at(i).ID
	}
	starred, err := c.a.Tree.FavouritesAmong(c.ctx(), c.actor, ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		at(i).Favourite = starred[id]
	}
	return nil
}

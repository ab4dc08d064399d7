package api

import (
	"time"

	"larder/internal/audit"
)

type topInput struct {
	From  *int64  `query:"from" json:"-" minimum:"0" maximum:"9007199254740991" description:"ms, inclusive. Default: a day before to."`
	To    *int64  `query:"to" json:"-" minimum:"0" maximum:"9007199254740991" description:"ms, exclusive. Default: now."`
	By    *string `query:"by" json:"-" enum:"bytes,count" default:"bytes" description:"The figure that orders the paths, the largest first."`
	Limit *int64  `query:"limit" json:"-" minimum:"1" maximum:"100" default:"10"`
}

// topPathReply is the number and the bytes of the downloads at one path.
type topPathReply struct {
	Path  string `json:"path" required:"true" description:"Path of the file or folder at the time of the downloads."`
	Count int64  `json:"count" required:"true" description:"Number of successful requests, also by shares."`
	Bytes int64  `json:"bytes" required:"true" description:"Sent bytes."`
}

type topReply struct {
	Paths []topPathReply `json:"paths" required:"true"`
	From  int64          `json:"from" required:"true" description:"ms; beginning of the time that was summed: later than the requested one if the access log has more than 20000 downloads, or downloads from shares, since then."`
}

// topDownloads handles GET /api/admin/stats/top: the paths with the most downloads between two
// times. Fault: Invalid.
func (a *API) topDownloads(c *call, in topInput) (topReply, error) {
	from, to, err := a.span(in.From, in.To)
	if err != nil {
		return topReply{}, err
	}
	order := audit.TopOrder(valueOr(in.By, string(audit.ByBytes)))
	top, since, err := a.Audit.Top(c.ctx(), order, from, to, valueOr(in.Limit, 10))
	reply := topReply{Paths: []topPathReply{}, From: since}
	for _, p := range top {
		reply.Paths = append(reply.Paths, topPathReply(p))
	}
	return reply, err
}

type storageHistoryInput struct {
	Days *int64 `query:"days" json:"-" minimum:"1" maximum:"400" default:"90" description:"Number of days (UTC), this one included."`
}

// storedReply is the use of one provider on a day.
type storedReply struct {
	ProviderID string `json:"providerId" required:"true" description:"Also of a provider that was deleted since."`
	UsedSpace  int64  `json:"usedSpace" required:"true" description:"Bytes, as in the totals."`
	FileCount  int64  `json:"fileCount" required:"true"`
}

type storageDayReply struct {
	At      int64         `json:"at" required:"true" description:"ms; beginning of the day (UTC)."`
	Storage []storedReply `json:"storage" required:"true" description:"The providers, as of the first measurement of that day; of the present day, as of now."`
}

type storageHistoryReply struct {
	Days []storageDayReply `json:"days" required:"true" description:"Oldest first, without days on which the service did not run."`
}

// storageHistory handles GET /api/admin/stats/storage: the use of each provider by the day,
// on the present day as it is now.
func (a *API) storageHistory(c *call, in storageHistoryInput) (storageHistoryReply, error) {
	history, err := a.Audit.StorageHistory(c.ctx(), valueOr(in.Days, 90))
	if err != nil {
		return storageHistoryReply{}, err
	}
	now, err := c.totals()
	if err != nil {
		return storageHistoryReply{}, err
	}
	reply := storageHistoryReply{Days: []storageDayReply{}}
	today := storageDayReply{At: a.Now().UTC().Truncate(24 * time.Hour).UnixMilli()}
	for _, p := range now.Storage {
		today.Storage = append(today.Storage, storedReply{p.ProviderID, p.UsedSpace, p.FileCount})
	}
	for _, use := range history {
		if use.Day >= today.At {
			break
		}
		if n := len(reply.Days); n == 0 || reply.Days[n-1].At != use.Day {
			reply.Days = append(reply.Days, storageDayReply{At: use.Day})
		}
		last := &reply.Days[len(reply.Days)-1]
		last.Storage = append(last.Storage, storedReply{use.ProviderID, use.Bytes, use.Files})
	}
	reply.Days = append(reply.Days, today)
	return reply, nil
}

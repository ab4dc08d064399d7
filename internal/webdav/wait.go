package webdav

import (
	"time"

	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/job"
	"larder/internal/vpath"
)

// begin starts to move or copy an entry into a folder under a name.
func (q *request) begin(id string, dir vpath.Path, name vpath.Name, move, over, shallow bool) (job.Job, error) {
	how := files.Manner{Over: over, Shallow: shallow, Still: q.still}
	if move {
		return q.Tree.MoveOver(q.ctx(), q.Actor, id, dir, name, how)
	}
	return q.Tree.CopyOver(q.ctx(), q.Actor, id, dir, name, how)
}

// pause is how often a job that is under way is looked at.
const pause = 200 * time.Millisecond

// wait waits until a job has ended, or the client has gone: then the job goes on without it. Fault: Unavailable when the job fails.
func (q *request) wait(j job.Job) (err error) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for j.Status != job.Completed {
		if j.Status == job.Failed {
			why := "It could not be done."
			if j.ErrorMessage != nil {
				why = *j.ErrorMessage
			}
			return fault.New(fault.Unavailable, why)
		}
		select {
		case <-q.ctx().Done():
			return q.ctx().Err()
		case <-tick.C:
		}
		if j, err = job.ByID(q.DB.Read(q.ctx()), j.OwnerID, j.ID); err != nil {
			return err
		}
	}
	return nil
}

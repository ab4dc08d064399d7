package webdav

import (
	"time"

	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/job"
	"larder/internal/vpath"
)

// startTransfer starts to move or copy an entry into a folder under a name.
func (q *request) startTransfer(id string, dir vpath.Path, name vpath.Name, move, overwrite,
	shallow bool) (job.Job, error) {
	how := files.CopyMoveOptions{Replace: overwrite, Shallow: shallow, Precondition: q.recheckTarget}
	if move {
		return q.Tree.MoveWithOptions(q.ctx(), q.Actor, id, dir, name, how)
	}
	return q.Tree.CopyWithOptions(q.ctx(), q.Actor, id, dir, name, how)
}

// jobPollInterval is how often a job that is under way is looked at.
const jobPollInterval = 200 * time.Millisecond

// waitForJob waits until a job has ended, or the client has gone: then the job goes on without it.
// Fault: Unavailable when the job fails.
func (q *request) waitForJob(j job.Job) (err error) {
	tick := time.NewTicker(jobPollInterval)
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

package webdav

import (
	"time"

	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/job"
	"larder/internal/vpath"
)

// transferMode says how COPY or MOVE treats the entry and the destination.
type transferMode struct {
	move      bool // otherwise copy
	overwrite bool // replace the entry at the destination
	shallow   bool // copy a folder without its content
}

// startTransfer starts to move or copy an entry to a path.
func (q *request) startTransfer(id string, to vpath.Path, mode transferMode) (job.Job, error) {
	how := files.CopyMoveOptions{Replace: mode.overwrite, Shallow: mode.shallow, Precondition: q.recheckTarget}
	if mode.move {
		return q.Tree.MoveWithOptions(q.ctx(), q.Actor, id, to.Parent(), to.Base(), how)
	}
	return q.Tree.CopyWithOptions(q.ctx(), q.Actor, id, to.Parent(), to.Base(), how)
}

// jobPollInterval is the time between two reads of a job that is not finished.
const jobPollInterval = 200 * time.Millisecond

// waitForJob waits until a job has ended or the client is gone. The job goes on without the client.
// Fault: Unavailable when the job fails.
func (q *request) waitForJob(j job.Job) (err error) {
	tick := time.NewTicker(jobPollInterval)
	defer tick.Stop()
	for j.Status != job.Completed {
		if j.Status == job.Failed {
			why := "The file or folder could not be moved or copied."
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

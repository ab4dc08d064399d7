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

// startTransfer starts to move or copy the entry with that id to a path. The returned job may have
// ended already.
func (req *request) startTransfer(id string, to vpath.Path, mode transferMode) (job.Job, error) {
	how := files.CopyMoveOptions{Replace: mode.overwrite, Shallow: mode.shallow, Precondition: req.recheckTarget}
	if mode.move {
		return req.Tree.MoveWithOptions(req.ctx(), req.Actor, id, to.Parent(), to.Base(), how)
	}
	return req.Tree.CopyWithOptions(req.ctx(), req.Actor, id, to.Parent(), to.Base(), how)
}

// jobPollInterval is the time between two reads of a job that is not finished.
const jobPollInterval = 200 * time.Millisecond

// waitForJob waits until a job has ended or the client is gone, which it finds out by polling. The
// job goes on without the client. Fault: Unavailable when the job fails. Error: that of the context
// when the client is gone.
func (req *request) waitForJob(j job.Job) (err error) {
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
		case <-req.ctx().Done():
			return req.ctx().Err()
		case <-tick.C:
		}
		if j, err = job.ByID(req.DB.Read(req.ctx()), j.OwnerID, j.ID); err != nil {
			return err
		}
	}
	return nil
}

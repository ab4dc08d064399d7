package api

import (
	"net/http"

	"larder/internal/audit"
	"larder/internal/fault"
	"larder/internal/files"
	"larder/internal/vpath"
)

type batchInput struct {
	Action     *string `json:"action" required:"true" enum:"delete,move"`
	FileIDs    []text  `json:"fileIds" required:"true" minItems:"1" maxItems:"100" description:"A repeated id counts once."`
	TargetPath *string `json:"targetPath" description:"The folder to move to; required for move, ignored for delete."`
	FromPath   *string `json:"fromPath" description:"An addition, for move: only entries that are in this folder are moved; for others the code is OPERATION_FAILED. A delete with it is refused."`
	Trash      *bool   `json:"trash" description:"An addition, for delete: true deletes into the trash, false for good. Without it the setting trashAll decides."`
}

type batchReply struct {
	Succeeded []string     `json:"succeeded" required:"true" description:"Ids of the entries that were deleted or moved, or whose move was accepted as a job."`
	Failed    []batchError `json:"failed" required:"true"`
	Jobs      []batchJob   `json:"jobs" required:"true" description:"An addition: the unfinished jobs of moves to another storage provider."`
	TrashIDs  []string     `json:"trashIds" required:"true" description:"An addition: ids of the items in the trash that the deleted entries have become. An entry in a folder that was deleted too comes back with that folder."`
}

// batchError is the failure of one entry of a batch.
type batchError struct {
	ID    string `json:"id" required:"true"`
	Error string `json:"error" required:"true" description:"A sentence for a person."`
	Code  string `json:"code" required:"true" description:"An addition: the error code of the operation on a single entry."`
}

// batchJob names the job that goes on with the move of the entry ID.
type batchJob struct {
	ID    string `json:"id" required:"true"`
	JobID string `json:"jobId" required:"true"`
}

// batch handles POST /api/files/batch: it deletes or moves up to 100 entries one by one. The reply
// has the ids of the entries that succeeded, including moves that go on as jobs, and for each entry
// that failed the code and message of the operation on a single entry. Faults, for the whole batch:
// Forbidden for a key without the permission; Invalid for a missing or wrong path.
func (a *API) batch(c *call, in batchInput) (batchReply, error) {
	ids := make([]string, len(in.FileIDs))
	for i, id := range in.FileIDs {
		ids[i] = string(id)
	}
	paths := c.pathsOf(ids) // read before the entries are deleted or moved
	outcomes, err := a.batchOutcomes(c, in, ids)
	if err != nil {
		return batchReply{}, err
	}
	reply := batchReply{Succeeded: []string{}, Failed: []batchError{}, Jobs: []batchJob{}, TrashIDs: []string{}}
	action := map[string]audit.Action{"delete": audit.Delete, "move": audit.Move}[*in.Action]
	for _, o := range outcomes {
		path, known := paths[o.ID]
		if o.Err != nil {
			answer := c.describeError(o.Err)
			if known {
				c.auditOne(action, path, answer.status)
			}
			reply.Failed = append(reply.Failed, batchError{o.ID, answer.message, answer.code})
			continue
		}
		if known {
			c.auditOne(action, path, http.StatusOK)
		}
		reply.Succeeded = append(reply.Succeeded, o.ID)
		if o.InTrash {
			reply.TrashIDs = append(reply.TrashIDs, o.ID)
		}
		if o.Job != nil {
			reply.Jobs = append(reply.Jobs, batchJob{o.ID, o.Job.ID})
		}
	}
	return reply, nil
}

// batchOutcomes deletes or moves the entries and returns one outcome for each of ids. Faults: those
// of batch.
func (a *API) batchOutcomes(c *call, in batchInput, ids []string) ([]files.Outcome, error) {
	if *in.Action == "delete" {
		if in.FromPath != nil { // ignoring a condition would delete entries that the client wants to keep
			return nil, fault.InvalidField("fromPath", "fromPath is for moves only.")
		}
		if err := c.requirePermission("delete"); err != nil {
			return nil, err
		}
		return a.Tree.DeleteEach(c.ctx(), c.actor, ids, disposalOf(in.Trash))
	}
	if err := c.requireMovePermissions(); err != nil {
		return nil, err
	}
	if in.TargetPath == nil {
		return nil, fault.New(fault.Invalid, "targetPath is required for a move.")
	}
	target, err := vpath.Parse(*in.TargetPath)
	if err != nil {
		return nil, err
	}
	var still files.Precondition
	if in.FromPath != nil {
		from, err := vpath.Parse(*in.FromPath)
		if err != nil {
			return nil, err
		}
		still = files.InFolder(from)
	}
	return a.Tree.MoveEach(c.ctx(), c.actor, ids, target, still)
}

package files

import (
	"context"
	"encoding/json"

	"larder/internal/db"
	"larder/internal/job"
	"larder/internal/notice"
)

// countFiles sets the number of files that were moved or copied, for the notification of the job's
// end. It locks nothing.
func (t *transfer) countFiles(ctx context.Context) error {
	files, err := countFiles(t.DB.Read(ctx), t.payload.Entry)
	if err == nil {
		t.run.SetFiles(files)
	}
	return err
}

// NotifyEnd tells the owner of a move, a copy or a rewind that the job has ended; failure is the
// sentence for a failed one, "" for a completed one. It is for job.Runner.OnEnd. It fails only with
// the database, since an error keeps the job from ending.
func (t *Tree) NotifyEnd(tx *db.Tx, run *job.Run, failure string) error {
	params := notice.Params{JobID: run.ID, JobType: run.Type, Failed: failure != "", Message: failure}
	var payload movePayload
	if err := json.Unmarshal([]byte(run.Payload), &payload); err == nil { // of the others as well
		params.Path = payload.Target
		if payload.Name != nil {
			params.Name = string(*payload.Name)
		} else if params.Name, err = nameOf(tx, payload.Entry); err != nil {
			return err
		}
	}
	if failure == "" {
		params.Files = run.Files()
	}
	return notice.Insert(tx, notice.Event{ID: t.IDs.UUID(), UserID: run.OwnerID, Kind: notice.Job, Subject: run.ID,
		Params: params, At: t.nowMs()})
}

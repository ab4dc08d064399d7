package api

import (
	"larder/internal/audit"
	"larder/internal/files"
)

type rewindInput struct {
	ID     string `path:"id" json:"-"`
	At     *int64 `json:"at" required:"true" minimum:"0" description:"ms; not in the future, not before knownSince of the folder, and in none of its gaps."`
	DryRun *bool  `json:"dryRun" description:"true: only say what would change."`
}

// rewindStepReply is one kind of change of a rewind.
type rewindStepReply struct {
	Count int      `json:"count" required:"true"`
	Paths []string `json:"paths" required:"true" description:"The first 100."`
}

type blockedRewindReply struct {
	Path string `json:"path" required:"true"`
	Why  string `json:"why" required:"true" description:"A sentence."`
}

// rewindPlanReply is what a rewind would change.
type rewindPlanReply struct {
	ComeBack     rewindStepReply      `json:"comeBack" required:"true" description:"Entries that are restored from the trash."`
	MoveBack     rewindStepReply      `json:"moveBack" required:"true" description:"Entries that are moved or renamed back."`
	Revert       rewindStepReply      `json:"revert" required:"true" description:"Files that get their former content."`
	ToTrash      rewindStepReply      `json:"toTrash" required:"true" description:"Entries that were added after that time; they go to the trash."`
	Blocked      []blockedRewindReply `json:"blocked" required:"true" description:"Entries that stay as they are: the first 100."`
	BlockedCount int                  `json:"blockedCount" required:"true"`
}

type rewindReply struct {
	Plan  *rewindPlanReply `json:"plan" required:"true" description:"null without dryRun."`
	JobID *string          `json:"jobId" required:"true" description:"null with dryRun."`
}

// rewind handles POST /api/files/{id}/rewind: it starts a job that brings a folder back to an
// earlier time, and answers the job's id. With dryRun it answers the changes that the job would
// make.
func (a *API) rewind(c *call, in rewindInput) (rewindReply, error) {
	if valueOr(in.DryRun, false) {
		if err := c.requirePermission("read"); err != nil {
			return rewindReply{}, err
		}
		plan, err := a.Tree.PlanRewind(c.ctx(), c.actor, in.ID, *in.At)
		if err != nil {
			return rewindReply{}, err
		}
		view := viewRewindPlan(plan)
		return rewindReply{Plan: &view}, nil
	}
	for _, permission := range []string{"read", "write", "delete"} {
		if err := c.requirePermission(permission); err != nil {
			return rewindReply{}, err
		}
	}
	c.auditEntry(audit.Rewind, in.ID)
	made, err := a.Tree.Rewind(c.ctx(), c.actor, in.ID, *in.At)
	if err != nil {
		return rewindReply{}, err
	}
	return rewindReply{JobID: &made.ID}, nil
}

// viewRewindPlan translates the changes that a rewind would make into their JSON form.
func viewRewindPlan(plan files.RewindPlan) rewindPlanReply {
	step := func(s files.RewindStep) rewindStepReply {
		return rewindStepReply{s.Count, append([]string{}, s.Paths...)}
	}
	reply := rewindPlanReply{ComeBack: step(plan.ComeBack), MoveBack: step(plan.MoveBack), Revert: step(plan.Revert),
		ToTrash: step(plan.ToTrash), Blocked: []blockedRewindReply{}, BlockedCount: plan.BlockedCount}
	for _, b := range plan.Blocked {
		reply.Blocked = append(reply.Blocked, blockedRewindReply(b))
	}
	return reply
}

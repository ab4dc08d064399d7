package api

import (
	"larder/internal/job"
	"larder/internal/lifecycle"
)

// evacuateInput names in ID the provider or the mount to empty, by the route, and in Target the
// provider that gets the objects.
type evacuateInput struct {
	ID             string          `path:"id" json:"-"`
	Target         *string         `json:"targetProviderId" required:"true" minLength:"1" description:"Provider that gets all objects."`
	BytesPerSecond nullable[int64] `json:"bytesPerSecond" minimum:"1" description:"Bytes that are read per second; null for no limit."`
	DropSigned     *bool           `json:"dropSigned" default:"false" description:"Old objects are removed before the addresses that their store has signed have ended."`
}

// evacuation translates the request into the order for lifecycle to move all objects to another
// provider. A BytesPerSecond of 0 means no limit.
func (in evacuateInput) evacuation() lifecycle.Evacuation {
	return lifecycle.Evacuation{Target: valueOr(in.Target, ""), BytesPerSecond: valueOr(in.BytesPerSecond.value, 0),
		DropSigned: valueOr(in.DropSigned, false)}
}

type evacuateReply struct {
	JobID string `json:"jobId" required:"true"`
}

// evacuateProvider handles POST /api/admin/storage/providers/{id}/evacuate: it starts the job that
// moves all objects of a provider to another one, and answers the job's id.
func (a *API) evacuateProvider(c *call, in evacuateInput) (evacuateReply, error) {
	id, err := a.Lifecycle.EvacuateProvider(c.ctx(), c.actor.UserID, in.ID, in.evacuation())
	return evacuateReply{id}, err
}

// evacuateMount handles POST /api/admin/mounts/{id}/evacuate: it starts the job that moves the
// objects of one mount to another provider, and answers the job's id.
func (a *API) evacuateMount(c *call, in evacuateInput) (evacuateReply, error) {
	id, err := a.Lifecycle.EvacuateMount(c.ctx(), c.actor.UserID, in.ID, in.evacuation())
	return evacuateReply{id}, err
}

// evacuationReply is an evacuation as every administrator sees it.
type evacuationReply struct {
	JobID          string  `json:"jobId" required:"true"`
	ProviderID     string  `json:"providerId" required:"true" description:"Provider that is emptied."`
	ProviderName   string  `json:"providerName" required:"true" description:"Empty if the provider has been deleted."`
	TargetID       string  `json:"targetProviderId" required:"true"`
	TargetName     string  `json:"targetProviderName" required:"true" description:"Empty if the provider has been deleted."`
	MountID        *string `json:"mountId" required:"true" description:"Mount of which the objects are moved; null for all of the provider."`
	MountPath      string  `json:"mountPath" required:"true" description:"Path of the mount; empty without one, and if it has been deleted."`
	BytesPerSecond *int64  `json:"bytesPerSecond" required:"true" description:"Limit; null for none."`
	DropSigned     bool    `json:"dropSigned" required:"true"`
	Status         string  `json:"status" required:"true" enum:"pending,running,completed,failed"`
	Paused         bool    `json:"paused" required:"true"`
	Progress       int     `json:"progress" required:"true" minimum:"0" maximum:"100"`
	Mounted        bool    `json:"mounted" required:"true" description:"All objects are moved, and the mounts are on the target. The job waits until the old objects are removed."`
	TotalObjects   *int64  `json:"totalObjects" required:"true" description:"Objects to be moved when the job began; null before."`
	LeftObjects    *int64  `json:"leftObjects" required:"true" description:"Objects that are still to be moved; null after the end."`
	DoneBytes      int64   `json:"doneBytes" required:"true" description:"Bytes of moved objects."`
	LeftBytes      *int64  `json:"leftBytes" required:"true" description:"Bytes of the objects that are still to be moved; null after the end."`
	NextRemovalAt  *int64  `json:"nextRemovalAt" required:"true" description:"ms; when the next old object may be removed. null while objects are moved, and after the end."`
	Reason         *string `json:"reason" required:"true" enum:"copy_differs,object_missing,full,unavailable,other" description:"Why the job failed; null if it did not."`
	ObjectKey      string  `json:"objectKey" required:"true" description:"Key of the object that differs or is missing, or empty."`
	ErrorMessage   *string `json:"errorMessage" required:"true"`
	CreatedAt      int64   `json:"createdAt" required:"true"`
	CompletedAt    *int64  `json:"completedAt" required:"true"`
}

func viewEvacuation(e lifecycle.EvacuationStatus) evacuationReply {
	j := e.Job
	reply := evacuationReply{
		JobID: j.ID, ProviderID: e.From, ProviderName: e.FromName, TargetID: e.Target, TargetName: e.TargetName,
		MountID: optional(e.Mount), MountPath: e.Path, BytesPerSecond: positive(e.BytesPerSecond),
		DropSigned: e.DropSigned, Status: j.Status, Paused: j.Paused, Progress: j.Progress, Mounted: e.Mounted,
		TotalObjects: positive(e.Objects), DoneBytes: e.DoneBytes, NextRemovalAt: positive(e.NextRemoval),
		Reason: optional(e.Failure.Reason), ObjectKey: e.Failure.Key, ErrorMessage: j.ErrorMessage,
		CreatedAt: j.CreatedAt, CompletedAt: j.CompletedAt,
	}
	if j.Status == job.Pending || j.Status == job.Running {
		reply.LeftObjects, reply.LeftBytes = &e.Left.Objects, &e.Left.Bytes
	}
	return reply
}

func positive(n int64) *int64 {
	if n <= 0 {
		return nil
	}
	return &n
}

type listEvacuationsReply struct {
	Evacuations []evacuationReply `json:"evacuations" required:"true" description:"The newest 20, newest first."`
}

func (a *API) listEvacuations(c *call, _ struct{}) (listEvacuationsReply, error) {
	all, err := a.Lifecycle.Evacuations(c.ctx())
	reply := listEvacuationsReply{Evacuations: []evacuationReply{}}
	for _, e := range all {
		reply.Evacuations = append(reply.Evacuations, viewEvacuation(e))
	}
	return reply, err
}

type oneEvacuationReply struct {
	Evacuation evacuationReply `json:"evacuation" required:"true"`
}

func (a *API) evacuationDetails(c *call, in jobInput) (oneEvacuationReply, error) {
	e, err := a.Lifecycle.EvacuationByID(c.ctx(), in.JobID)
	return oneEvacuationReply{viewEvacuation(e)}, err
}

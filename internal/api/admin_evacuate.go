package api

import "larder/internal/lifecycle"

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

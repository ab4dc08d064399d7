package api

import (
	"larder/internal/access"
	"larder/internal/job"
)

// jobReply is a background job (specification: Job).
type jobReply struct {
	ID           string  `json:"id" required:"true"`
	Type         string  `json:"type" required:"true" enum:"move,copy,purge,rewind,evacuate" description:"purge (the trash is emptied), rewind (a folder is brought back to an earlier time) and evacuate (a provider is emptied) are additions."`
	Status       string  `json:"status" required:"true" enum:"pending,running,completed,failed"`
	Progress     int     `json:"progress" required:"true" minimum:"0" maximum:"100"`
	ErrorMessage *string `json:"errorMessage" required:"true"`
	CreatedAt    int64   `json:"createdAt" required:"true"`
	CompletedAt  *int64  `json:"completedAt" required:"true" description:"End of the job, also of a failed one."`
	Paused       bool    `json:"paused" required:"true" description:"The job is pending until it is resumed."`
}

// viewJob translates a background job, with its progress and its error, into its JSON form.
func viewJob(j job.Job) jobReply {
	return jobReply{j.ID, j.Type, j.Status, j.Progress, j.ErrorMessage, j.CreatedAt, j.CompletedAt, j.Paused}
}

type jobInput struct {
	JobID string `path:"jobId" json:"-"`
}

type jobDetailsReply struct {
	Job jobReply `json:"job" required:"true"`
}

// jobDetails handles GET /api/files/jobs/{jobId}. It accepts a key with any permissions: every key
// may see the jobs of its owner. Fault: NotFound, also for a job of another account.
func (a *API) jobDetails(c *call, in jobInput) (jobDetailsReply, error) {
	j, err := job.ByID(a.DB.Read(c.ctx()), c.actor.UserID, in.JobID)
	return jobDetailsReply{viewJob(j)}, err
}

// pauseJob handles POST /api/files/jobs/{jobId}/pause: it pauses an evacuation. It accepts sessions
// only: a key sees the jobs of its owner, and changes none. Faults: NotFound, Conflict.
func (a *API) pauseJob(c *call, in jobInput) (jobDetailsReply, error) {
	j, err := a.Lifecycle.PauseJob(c.ctx(), c.actor.UserID, c.actor.Role == access.Admin, in.JobID)
	return jobDetailsReply{viewJob(j)}, err
}

// resumeJob handles POST /api/files/jobs/{jobId}/resume: it lets a paused evacuation go on. Faults:
// NotFound, Conflict.
func (a *API) resumeJob(c *call, in jobInput) (jobDetailsReply, error) {
	j, err := a.Lifecycle.ResumeJob(c.ctx(), c.actor.UserID, c.actor.Role == access.Admin, in.JobID)
	return jobDetailsReply{viewJob(j)}, err
}

// maxListedJobs is the largest number of jobs in a listing.
const maxListedJobs = 100

type listJobsInput struct {
	Status *string `query:"status" json:"-" enum:"pending,running,completed,failed"`
}

type listJobsReply struct {
	Jobs []jobReply `json:"jobs" required:"true" description:"The newest 100, newest first."`
}

// listJobs handles GET /api/files/jobs: the caller's newest maxListedJobs background jobs, such as
// moves, optionally of one status.
func (a *API) listJobs(c *call, in listJobsInput) (listJobsReply, error) {
	jobs, err := job.List(a.DB.Read(c.ctx()), c.actor.UserID, valueOr(in.Status, ""), maxListedJobs)
	reply := listJobsReply{Jobs: []jobReply{}}
	for _, j := range jobs {
		reply.Jobs = append(reply.Jobs, viewJob(j))
	}
	return reply, err
}

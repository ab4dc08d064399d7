package api

import (
	"encoding/json"
	"net/http"
)

// readinessReply tells operators what is wrong. It names providers and files, so it is not for the
// public probe (abuse case C122).
type readinessReply struct {
	Ready    bool     `json:"ready"`
	Detail   string   `json:"detail"`   // as in the public probe
	Warnings []string `json:"warnings"` // a sentence for each problem
}

// ServeReadiness answers on the operations listener, which clients don't reach, like
// /api/public/health/ready, with all problems that need the operator. The status is 503 while the
// service is not ready.
func (a *API) ServeReadiness(w http.ResponseWriter, r *http.Request) {
	reply := readinessReply{Warnings: []string{}}
	reply.Ready, reply.Detail = a.Ready(r)
	if a.Started() {
		warnings, err := a.SystemWarnings(r.Context())
		for _, warning := range warnings {
			reply.Warnings = append(reply.Warnings, warning.Message)
		}
		if err != nil {
			reply.Warnings = append(reply.Warnings,
				"The database does not answer ("+err.Error()+"). Check that it runs and that this machine reaches it.")
		}
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if !reply.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(reply) // a monitor that hangs up needs no answer
}

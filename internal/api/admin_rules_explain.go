package api

import (
	"net/netip"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/vpath"
)

type explainInput struct {
	Path       *string `json:"path" required:"true"`
	Permission *string `json:"permission" required:"true" enum:"read,write,update,delete,share,download"`
	Role       *string `json:"role" enum:"admin,user,guest" description:"Exactly one of role, userId, apiKeyId, anonymous."`
	UserID     *string `json:"userId"`
	APIKeyID   *string `json:"apiKeyId"`
	Anonymous  *bool   `json:"anonymous"`
	IP         *string `json:"ip" description:"Default: the caller's own address."`
}

type explainStepReply struct {
	RuleID  string `json:"ruleId" required:"true"`
	Matched bool   `json:"matched" required:"true"`
	Code    string `json:"code" required:"true" description:"The reason, for programs."`
	Reason  string `json:"reason" required:"true"`
}

type explainReply struct {
	Allowed       bool               `json:"allowed" required:"true"`
	NeedsPassword bool               `json:"needsPassword" required:"true"`
	DecidedBy     string             `json:"decidedBy" required:"true" description:"A rule's id, or administrator, owner, home, default."`
	Username      *string            `json:"username" required:"true" description:"Of the account that the question is about, or of the owner of the key; null for a role or a visitor."`
	Trace         []explainStepReply `json:"trace" required:"true"`
	Rules         []adminRuleReply   `json:"rules" required:"true" description:"The rules of the trace."`
}

// explainRules handles POST /api/admin/rules/explain: it tells whether an account, key, role or
// visitor has a permission on a path, and which rules decide that. It asks the evaluator that
// decides real requests.
func (a *API) explainRules(c *call, in explainInput) (explainReply, error) {
	path, err := vpath.Parse(*in.Path)
	if err != nil {
		return explainReply{}, fault.InField(err, "path")
	}
	actor, err := c.explainedActor(in)
	if err != nil {
		return explainReply{}, err
	}
	set, err := access.ParseSet([]string{*in.Permission})
	if err != nil {
		return explainReply{}, err
	}
	verdict, steps, err := a.Tree.Explain(c.ctx(), actor, path, access.Permission(set))
	if err != nil {
		return explainReply{}, err
	}
	reply := explainReply{Allowed: verdict.Outcome == access.Allowed,
		NeedsPassword: verdict.Outcome == access.NeedsPassword, DecidedBy: verdict.DecidedBy,
		Trace: []explainStepReply{}}
	for _, step := range steps {
		reply.Trace = append(reply.Trace,
			explainStepReply{step.RuleID, step.Matched, string(step.Reason), step.Reason.Sentence()})
	}
	user, err := c.userNamed(actor.UserID)
	if err != nil {
		return reply, err
	}
	reply.Username = optional(user.Username)
	rules, err := a.Rules.All(c.ctx())
	if err != nil {
		return reply, err
	}
	reply.Rules, err = c.viewAdminRules(rules)
	return reply, err
}

// explainedActor returns the actor whose permissions explainRules explains: an account, a key with
// its owner, a role (an invented account with that role that owns nothing), or a visitor. The
// address is the one in the request, by default the caller's. Fault: Invalid unless exactly one of
// them is named and it exists.
func (c *call) explainedActor(in explainInput) (access.Actor, error) {
	actor := access.Actor{Role: access.Guest, IP: c.ip}
	if in.IP != nil {
		ip, err := netip.ParseAddr(*in.IP)
		if err != nil {
			return actor, fault.InvalidField("ip", "ip must be an address.")
		}
		actor.IP = ip.Unmap()
	}
	given := 0
	for _, is := range []bool{in.Role != nil, in.UserID != nil, in.APIKeyID != nil, valueOr(in.Anonymous, false)} {
		if is {
			given++
		}
	}
	if given != 1 {
		return actor, fault.New(fault.Invalid, "Give exactly one of role, userId, apiKeyId, anonymous.")
	}
	version, err := c.configVersion()
	if err != nil {
		return actor, err
	}
	userID := valueOr(in.UserID, "")
	if in.APIKeyID != nil {
		key, err := c.a.Keys.ByID(c.ctx(), version, *in.APIKeyID)
		if err != nil {
			return actor, invalidIfMissing(err, "apiKeyId", "API key")
		}
		userID, actor.Key = key.UserID, key.Scope()
	}
	if userID != "" {
		user, err := c.a.Accounts.Cached(c.ctx(), version, userID)
		if err != nil {
			return actor, invalidIfMissing(err, "userId", "account")
		}
		actor.UserID, actor.Role, actor.HomeID = user.ID, user.Role, user.HomeID
	}
	if in.Role != nil { // an account with that role that owns nothing
		actor.UserID, actor.Role = c.a.IDs.UUID(), access.Role(*in.Role)
	}
	return actor, nil
}

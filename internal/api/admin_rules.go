package api

import (
	"larder/internal/access"
	"larder/internal/db"
	"larder/internal/fault"
	"larder/internal/secret"
)

// ruleReply is a permission rule as administrators see it; the password hash is masked.
type ruleReply struct {
	ID              string   `json:"id" required:"true"`
	PathPattern     string   `json:"pathPattern" required:"true"`
	Effect          string   `json:"effect" required:"true" enum:"allow,deny"`
	MountID         *string  `json:"mountId" required:"true"`
	Role            *string  `json:"role" required:"true"`
	UserID          *string  `json:"userId" required:"true"`
	APIKeyID        *string  `json:"apiKeyId" required:"true"`
	Permissions     []string `json:"permissions" required:"true" description:"Empty means all six."`
	RequirePassword bool     `json:"requirePassword" required:"true"`
	PasswordHash    *string  `json:"passwordHash" required:"true" description:"Masked."`
	AllowedIPs      []string `json:"allowedIps" required:"true"`
	Priority        int      `json:"priority" required:"true"`
	CreatedAt       int64    `json:"createdAt" required:"true"`
	UpdatedAt       int64    `json:"updatedAt" required:"true"`
}

// viewRule translates a permission rule into its JSON form, with asterisks in place of its password
// hash.
func viewRule(r access.StoredRule) ruleReply {
	reply := ruleReply{
		ID: r.ID, PathPattern: r.Pattern, Effect: string(r.Effect), MountID: optional(r.MountID),
		Role: optional(string(r.Role)), UserID: optional(r.UserID),
		APIKeyID: optional(r.KeyID), Permissions: r.Permissions.Names(), RequirePassword: r.RequirePassword,
		AllowedIPs: viewPrefixes(r.AllowedIPs),
		Priority:   r.Priority, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	if r.PasswordHash != "" {
		reply.PasswordHash = optional("******")
	}
	return reply
}

// optional returns a pointer to the text, or nil for "", so that JSON shows null for a missing
// text.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// adminRuleReply is a rule with the names that a person reads instead of ids.
type adminRuleReply struct {
	ruleReply
	Username *string `json:"username" required:"true" description:"Of userId, or of the owner of the key; null when the rule is for a role, or the account was deleted."`
	KeyName  *string `json:"keyName" required:"true" description:"Of apiKeyId; null when there is no such key."`
}

// viewAdminRule adds to a rule the names of its account and its key, for people to read. The name
// of a key or an account that does not exist any more is null.
func (c *call) viewAdminRule(r access.StoredRule) (adminRuleReply, error) {
	reply := adminRuleReply{ruleReply: viewRule(r)}
	userID := r.UserID
	if r.KeyID != "" {
		version, err := c.configVersion()
		if err != nil {
			return reply, err
		}
		key, err := c.a.Keys.ByID(c.ctx(), version, r.KeyID)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return reply, err
		}
		userID, reply.KeyName = key.UserID, optional(key.Name)
	}
	user, err := c.userNamed(userID)
	reply.Username = optional(user.Username)
	return reply, err
}

// viewAdminRules translates permission rules into their JSON form with the names of accounts and
// keys, in their order.
func (c *call) viewAdminRules(rules []access.StoredRule) ([]adminRuleReply, error) {
	replies := []adminRuleReply{}
	for _, rule := range rules {
		reply, err := c.viewAdminRule(rule)
		if err != nil {
			return nil, err
		}
		replies = append(replies, reply)
	}
	return replies, nil
}

type listRulesInput struct {
	Page    *int64  `query:"page" json:"-" minimum:"1" maximum:"1000000000" default:"1"`
	Limit   *int64  `query:"limit" json:"-" minimum:"1" maximum:"100" default:"20"`
	Search  *string `query:"search" json:"-" maxLength:"4096" description:"Part of the pattern, case-insensitive, or a path that the pattern covers."`
	Effect  *string `query:"effect" json:"-" enum:"allow,deny"`
	Subject *string `query:"subject" json:"-" enum:"admin,user,guest,account,key" description:"A role, or the rules for single accounts or for API keys."`
	UserID  *string `query:"userId" json:"-"`
}

type listRulesReply struct {
	Rules      []adminRuleReply `json:"rules" required:"true" description:"In the order of evaluation."`
	Pagination pagination       `json:"pagination" required:"true"`
}

// listRules handles GET /api/admin/rules: a page of the permission rules in the order in which they
// are evaluated, with filters.
func (a *API) listRules(c *call, in listRulesInput) (listRulesReply, error) {
	page, limit := valueOr(in.Page, 1), valueOr(in.Limit, 20)
	rules, total, err := a.Rules.List(c.ctx(), access.Filter{
		Search: valueOr(in.Search, ""), Effect: access.Effect(valueOr(in.Effect, "")),
		Subject: valueOr(in.Subject, ""), UserID: valueOr(in.UserID, ""),
	}, int(limit), int((page-1)*limit))
	if err != nil {
		return listRulesReply{}, err
	}
	replies, err := c.viewAdminRules(rules)
	return listRulesReply{replies, paginate(int64(total), page, limit)}, err
}

type createRuleInput struct {
	PathPattern     *string          `json:"pathPattern" required:"true"`
	Effect          *string          `json:"effect" required:"true" enum:"allow,deny"`
	MountID         nullable[string] `json:"mountId" description:"Empty or null for all mounts."`
	Role            nullable[string] `json:"role" description:"Exactly one of role, userId, apiKeyId."`
	UserID          nullable[string] `json:"userId"`
	APIKeyID        nullable[string] `json:"apiKeyId" description:"The id or the key id."`
	Permissions     *[]string        `json:"permissions" description:"Absent or empty means all six."`
	RequirePassword *bool            `json:"requirePassword"`
	Password        *string          `json:"password" description:"Only a hash is stored."`
	AllowedIPs      *[]string        `json:"allowedIps"`
	Priority        *int64           `json:"priority" minimum:"-1000000" maximum:"1000000"`
}

type updateRuleInput struct {
	ID              string           `path:"id" json:"-"`
	PathPattern     *string          `json:"pathPattern"`
	Effect          *string          `json:"effect" enum:"allow,deny"`
	MountID         nullable[string] `json:"mountId" description:"Empty or null for all mounts."`
	Role            nullable[string] `json:"role" description:"Exactly one of role, userId, apiKeyId."`
	UserID          nullable[string] `json:"userId"`
	APIKeyID        nullable[string] `json:"apiKeyId" description:"The id or the key id."`
	Permissions     *[]string        `json:"permissions" description:"Absent or empty means all six."`
	RequirePassword *bool            `json:"requirePassword"`
	Password        *string          `json:"password" description:"Only a hash is stored."`
	AllowedIPs      *[]string        `json:"allowedIps"`
	Priority        *int64           `json:"priority" minimum:"-1000000" maximum:"1000000"`
}

type oneRuleReply struct {
	Rule adminRuleReply `json:"rule" required:"true"`
}

// createRule handles POST /api/admin/rules: it stores a rule that allows or denies permissions on a
// path pattern to one role, account or key. It locks the rule's mount in the same transaction, so
// that no rule is left over for a deleted mount.
func (a *API) createRule(c *call, in createRuleInput) (oneRuleReply, error) {
	now := a.Now().UnixMilli()
	rule := access.StoredRule{Rule: access.Rule{ID: a.IDs.UUID(), CreatedAt: now}, UpdatedAt: now}
	change := updateRuleInput{
		PathPattern: in.PathPattern, Effect: in.Effect, MountID: in.MountID, Role: in.Role, UserID: in.UserID,
		APIKeyID:    in.APIKeyID,
		Permissions: in.Permissions, RequirePassword: in.RequirePassword, Password: in.Password,
		AllowedIPs: in.AllowedIPs, Priority: in.Priority,
	}
	hash, err := c.prepareRule(change)
	if err != nil {
		return oneRuleReply{}, err
	}
	if err := change.apply(&rule, hash); err != nil {
		return oneRuleReply{}, err
	}
	err = a.DB.Write(c.ctx(), func(tx *db.Tx) error {
		if err := a.lockMount(tx, in.MountID); err != nil {
			return err
		}
		return a.Rules.Insert(tx, rule)
	})
	return c.oneRule(rule, err)
}

// oneRule makes the reply of createRule and updateRule: the rule that was stored, or err if that is
// set.
func (c *call) oneRule(rule access.StoredRule, err error) (oneRuleReply, error) {
	if err != nil {
		return oneRuleReply{}, err
	}
	reply, err := c.viewAdminRule(rule)
	return oneRuleReply{reply}, err
}

// updateRule handles PUT /api/admin/rules/{id}. It locks the rule before it changes it, so that two
// administrators who change the rule at the same time don't undo each other's change.
func (a *API) updateRule(c *call, in updateRuleInput) (oneRuleReply, error) {
	hash, err := c.prepareRule(in)
	if err != nil {
		return oneRuleReply{}, err
	}
	var rule access.StoredRule
	err = a.DB.Write(c.ctx(), func(tx *db.Tx) (err error) {
		if err := a.lockMount(tx, in.MountID); err != nil {
			return err
		}
		if rule, err = a.Rules.Lock(tx, in.ID); err != nil {
			return err
		}
		if err := in.apply(&rule, hash); err != nil {
			return err
		}
		rule.UpdatedAt = a.Now().UnixMilli()
		return a.Rules.Replace(tx, rule)
	})
	return c.oneRule(rule, err)
}

// prepareRule does the work of createRule and updateRule that can't be done inside a transaction:
// it checks that the named user or key exists, and hashes the password. It returns the hash, or ""
// when no password was given. Fault: Invalid, with the field.
func (c *call) prepareRule(in updateRuleInput) (hash string, err error) {
	named := access.StoredRule{Rule: access.Rule{UserID: valueOr(in.UserID.value, ""),
		KeyID: valueOr(in.APIKeyID.value, "")}}
	if err := c.requireSubject(named); err != nil || in.Password == nil || *in.Password == "" {
		return "", err
	}
	hash, err = c.a.Accounts.HashPassword(c.ctx(), c.hashSource(), secret.Text(*in.Password))
	return hash, fault.InField(err, "password")
}

// setNullable sets a field to the given value; null empties it, and an absent value leaves it
// unchanged.
func setNullable(field *string, given nullable[string]) {
	if given.isSet {
		*field = valueOr(given.value, "")
	}
}

// apply copies the fields that the request has into the rule and checks the rule as a whole. hash
// is the hash of the given password; "" keeps the stored one. A rule that requires no password
// loses its hash. Fault: Invalid, with the field.
func (in updateRuleInput) apply(rule *access.StoredRule, hash string) error {
	rule.Pattern = valueOr(in.PathPattern, rule.Pattern)
	if _, err := access.ParsePattern(rule.Pattern); err != nil {
		return fault.InField(err, "pathPattern")
	}
	rule.Effect = access.Effect(valueOr(in.Effect, string(rule.Effect)))
	setNullable(&rule.MountID, in.MountID)
	setNullable((*string)(&rule.Role), in.Role)
	setNullable(&rule.UserID, in.UserID)
	setNullable(&rule.KeyID, in.APIKeyID)
	rule.RequirePassword = valueOr(in.RequirePassword, rule.RequirePassword)
	rule.Priority = int(valueOr(in.Priority, int64(rule.Priority)))
	if in.Permissions != nil {
		permissions, err := access.ParseSet(*in.Permissions)
		if err != nil {
			return fault.InField(err, "permissions")
		}
		rule.Permissions = permissions
	}
	if in.AllowedIPs != nil {
		prefixes, err := access.ParseAddresses(*in.AllowedIPs)
		if err != nil {
			return fault.InField(err, "allowedIps")
		}
		rule.AllowedIPs = prefixes
	}
	if hash != "" {
		rule.PasswordHash = hash
	}
	if !rule.RequirePassword {
		rule.PasswordHash = ""
	}
	return rule.Check()
}

// requireSubject checks that the account or key that a rule is for exists, since a rule for a
// mistyped id would never match and nothing would tell so. Fault: Invalid, with the field.
func (c *call) requireSubject(rule access.StoredRule) error {
	version, err := c.configVersion()
	if err != nil {
		return err
	}
	if rule.UserID != "" {
		if _, err := c.a.Accounts.ByID(c.a.DB.Read(c.ctx()), rule.UserID); err != nil {
			return invalidIfMissing(err, "userId", "account")
		}
	}
	if rule.KeyID != "" {
		if _, err := c.a.Keys.ByID(c.ctx(), version, rule.KeyID); err != nil {
			return invalidIfMissing(err, "apiKeyId", "API key")
		}
	}
	return nil
}

// lockMount locks the mount that a new or changed rule is limited to, if there is one. A
// transaction that deletes the mount then waits, and deletes the new rule as well. Fault: Invalid
// when there is no such mount.
func (a *API) lockMount(tx *db.Tx, mountID nullable[string]) error {
	if valueOr(mountID.value, "") == "" {
		return nil
	}
	_, err := a.Mounts.Lock(tx, *mountID.value)
	return invalidIfMissing(err, "mountId", "mount")
}

// invalidIfMissing turns a NotFound fault, of the look-up of an id in a request, into an Invalid
// fault about the field that has the id. noun names the missing thing in the message, such as
// "mount". It returns all other errors, and nil, unchanged.
func invalidIfMissing(err error, field, noun string) error {
	if fault.Is(err, fault.NotFound) {
		return fault.InvalidField(field, "%s names no %s.", field, noun)
	}
	return err
}

// deleteRule handles DELETE /api/admin/rules/{id}: it deletes a permission rule. Fault: NotFound.
func (a *API) deleteRule(c *call, in idInput) (none, error) {
	return none{}, a.DB.Write(c.ctx(), func(tx *db.Tx) error { return a.Rules.Delete(tx, in.ID) })
}

package api

import (
	"net/netip"
	"time"

	"larder/internal/access"
	"larder/internal/apikey"
)

// keyFields are the fields that an API key has from its creation, with our additions.
type keyFields struct {
	ID          string   `json:"id" required:"true"`
	Name        string   `json:"name" required:"true"`
	KeyID       string   `json:"keyId" required:"true"`
	Permissions []string `json:"permissions" required:"true"`
	Protocols   []string `json:"protocols" required:"true"`
	UploadPath  string   `json:"uploadPath" required:"true"`
	AllowedIPs  []string `json:"allowedIps" required:"true"`
	PublicLinks string   `json:"publicLinks" required:"true" enum:"none,images,all"`
	RootOnly    bool     `json:"rootOnly" required:"true"`
	ExpiresAt   *int64   `json:"expiresAt" required:"true"`
	CreatedAt   int64    `json:"createdAt" required:"true"`
}

// viewKeyFields translates an API key into the JSON fields that all replies about keys have.
func viewKeyFields(k apikey.Key) keyFields {
	return keyFields{
		ID: k.ID, Name: k.Name, KeyID: k.ID, Permissions: k.Permissions, Protocols: k.Protocols,
		UploadPath: k.UploadPath, AllowedIPs: viewPrefixes(k.AllowedIPs),
		PublicLinks: k.PublicLinks, RootOnly: k.RootOnly, ExpiresAt: k.ExpiresAt, CreatedAt: k.CreatedAt,
	}
}

// keyReply is an API key as listings show it.
type keyReply struct {
	keyFields
	LastUsedAt *int64 `json:"lastUsedAt" required:"true"`
	Status     string `json:"status" required:"true" enum:"active,expired,revoked"`
}

// viewKey translates an API key into its JSON form for listings; now decides whether the key has
// expired.
func viewKey(k apikey.Key, now time.Time) keyReply {
	return keyReply{viewKeyFields(k), k.LastUsedAt, k.Status(now)}
}

// viewPrefixes returns address ranges as texts, such as 10.0.0.0/8; a range of a single address is
// written as the address.
func viewPrefixes(prefixes []netip.Prefix) []string {
	list := []string{}
	for _, p := range prefixes {
		if p.IsSingleIP() {
			list = append(list, p.Addr().String())
		} else {
			list = append(list, p.String())
		}
	}
	return list
}

type createKeyInput struct {
	Name        *string   `json:"name" required:"true" maxLength:"100"`
	Permissions *[]string `json:"permissions" required:"true"`
	Protocols   *[]string `json:"protocols" required:"true"`
	UploadPath  *string   `json:"uploadPath" default:"/uploads"`
	AllowedIPs  *[]string `json:"allowedIps"`
	ExpiresIn   *int64    `json:"expiresIn" minimum:"60" description:"Seconds."`
	PublicLinks *string   `json:"publicLinks" enum:"none,images,all" description:"Which compatible uploads get a permanent link at once."`
	RootOnly    *bool     `json:"rootOnly" description:"Confines reading to the upload root as well."`
}

// newKeyReply is a key at its creation. It is the only reply that contains the secret.
type newKeyReply struct {
	keyFields
	Secret    string `json:"secret" required:"true"`
	FullToken string `json:"fullToken" required:"true"`
}

type createKeyReply struct {
	Key     newKeyReply     `json:"key" required:"true"`
	Configs keyConfigsReply `json:"configs" required:"true"`
}

type keyConfigsReply struct {
	Bearer bearerConfigReply `json:"bearer" required:"true"`
	WebDAV webdavConfigReply `json:"webdav" required:"true"`
}

type bearerConfigReply struct {
	URL    string `json:"url" required:"true"`
	Header string `json:"header" required:"true"`
}

type webdavConfigReply struct {
	URL      string `json:"url" required:"true"`
	Username string `json:"username" required:"true"`
	Password string `json:"password" required:"true"`
}

// createKey handles POST /api/keys/. The answer has the secret of the new key, which no later
// answer has, and what to enter in upload and WebDAV clients.
func (a *API) createKey(c *call, in createKeyInput) (createKeyReply, error) {
	key, secret, err := a.Keys.Create(c.ctx(), c.user.ID, apikey.NewKey{
		Name: *in.Name, Permissions: *in.Permissions, Protocols: *in.Protocols, UploadPath: valueOr(in.UploadPath, ""),
		AllowedIPs: valueOr(in.AllowedIPs, nil),
		ExpiresIn:  in.ExpiresIn, PublicLinks: valueOr(in.PublicLinks, ""), RootOnly: valueOr(in.RootOnly, false),
	})
	if err != nil {
		return createKeyReply{}, err
	}
	c.auditKey(key.ID)
	token := key.ID + "." + secret.Reveal()
	return createKeyReply{
		Key: newKeyReply{viewKeyFields(key), secret.Reveal(), token},
		Configs: keyConfigsReply{
			Bearer: bearerConfigReply{c.url("/api/upload"), "Authorization: Bearer " + token},
			WebDAV: webdavConfigReply{c.url("/webdav"), key.ID, secret.Reveal()},
		},
	}, nil
}

type listKeysReply struct {
	Keys []keyReply `json:"keys" required:"true"`
}

// listKeys handles GET /api/keys/: the caller's API keys, without secrets.
func (a *API) listKeys(c *call, _ struct{}) (listKeysReply, error) {
	keys, err := a.Keys.List(c.ctx(), c.user.ID)
	reply := listKeysReply{Keys: []keyReply{}}
	for _, key := range keys {
		reply.Keys = append(reply.Keys, viewKey(key, a.Now()))
	}
	return reply, err
}

type keyRulesReply struct {
	Rules []ruleReply `json:"rules" required:"true"`
}

// keyRules handles GET /api/keys/rules: it lists the permission rules that can apply to the
// caller's keys, those for the keys themselves, for the caller, for the caller's role, and for
// guests while guest access is on.
func (a *API) keyRules(c *call, _ struct{}) (keyRulesReply, error) {
	keys, err := a.Keys.List(c.ctx(), c.user.ID)
	if err != nil {
		return keyRulesReply{}, err
	}
	settings, err := c.settings()
	if err != nil {
		return keyRulesReply{}, err
	}
	mine := map[string]bool{}
	for _, key := range keys {
		mine[key.ID] = true
	}
	reply := keyRulesReply{Rules: []ruleReply{}}
	rules, err := a.Rules.All(c.ctx())
	for _, rule := range rules {
		if mine[rule.KeyID] || rule.UserID == c.user.ID || rule.Role != "" &&
			(rule.Role == c.user.Role || rule.Role == access.Guest && settings.AllowGuestAccess) {
			reply.Rules = append(reply.Rules, viewRule(rule))
		}
	}
	return reply, err
}

type changeKeyInput struct {
	ID          string          `path:"id" json:"-"`
	Name        *string         `json:"name" maxLength:"100"`
	Permissions *[]string       `json:"permissions"`
	AllowedIPs  *[]string       `json:"allowedIps"`
	ExpiresIn   nullable[int64] `json:"expiresIn" minimum:"60" description:"Seconds from now; null for no end."`
	PublicLinks *string         `json:"publicLinks" enum:"none,images,all"`
	RootOnly    *bool           `json:"rootOnly"`
}

type changeKeyReply struct {
	Key keyReply `json:"key" required:"true"`
}

// changeKey handles PATCH /api/keys/{id}: it changes the given fields of one of the caller's keys.
func (a *API) changeKey(c *call, in changeKeyInput) (changeKeyReply, error) {
	change := apikey.Change{Name: in.Name, Permissions: in.Permissions, AllowedIPs: in.AllowedIPs,
		PublicLinks: in.PublicLinks, RootOnly: in.RootOnly}
	if in.ExpiresIn.isSet {
		change.ExpiresIn = &in.ExpiresIn.value
	}
	c.auditKey(in.ID)
	key, err := a.Keys.Change(c.ctx(), c.user.ID, in.ID, change)
	return changeKeyReply{viewKey(key, a.Now())}, err
}

// revokeKey handles DELETE /api/keys/{id}: one of the caller's keys stops working for good.
func (a *API) revokeKey(c *call, in idInput) (none, error) {
	c.auditKey(in.ID)
	return none{}, a.Keys.Revoke(c.ctx(), c.user.ID, in.ID)
}

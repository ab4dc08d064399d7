package api

import (
	"larder/internal/lifecycle"
	"larder/internal/provider"
	"larder/internal/secret"
)

// providerReply is a storage provider as administrators see it. It never contains the secret key.
type providerReply struct {
	ID           string `json:"id" required:"true"`
	Name         string `json:"name" required:"true"`
	Type         string `json:"type" required:"true" enum:"store_a,store_b,store_c"`
	Endpoint     string `json:"endpoint" required:"true"`
	Region       string `json:"region" required:"true"`
	Bucket       string `json:"bucket" required:"true"`
	AccessKeyID  string `json:"accessKeyId" required:"true" description:"Masked; at most the last 4 characters are shown."`
	PublicDomain string `json:"publicDomain" required:"true"`
	UploadDomain string `json:"uploadDomain" required:"true"`
	PathPrefix   string `json:"pathPrefix" required:"true"`
	UploadMode   string `json:"uploadMode" required:"true" enum:"auto,presigned,worker"`
	Redirect     bool   `json:"redirect" required:"true"`
	MountCount   int    `json:"mountCount" required:"true"`
	Status       string `json:"status" required:"true" enum:"ok,unavailable" description:"Whether the store answers now; for store_a also whether it accepts writes."`
	CreatedAt    int64  `json:"createdAt" required:"true"`
	UpdatedAt    int64  `json:"updatedAt" required:"true"`
}

// viewProvider translates a provider into its JSON form, with a masked access key id and without
// the secret key.
func viewProvider(p lifecycle.StorageProvider) providerReply {
	reply := providerReply{
		ID: p.ID, Name: p.Name, Type: p.Type, Endpoint: p.Endpoint, Region: p.Region, Bucket: p.Bucket,
		AccessKeyID: masked(p.AccessKeyID), PublicDomain: p.PublicDomain, UploadDomain: p.UploadDomain,
		PathPrefix: p.PathPrefix, UploadMode: p.UploadMode, Redirect: p.Redirect, MountCount: p.Mounts, Status: "ok",
		CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}
	if !p.Available {
		reply.Status = "unavailable"
	}
	return reply
}

// masked returns the last four characters of an access key id behind asterisks, so that a person
// can recognize the key. Ids shorter than 12 bytes are masked completely.
func masked(id secret.Text) string {
	const shown, stars = 4, "****"
	text := id.Reveal()
	switch {
	case text == "":
		return ""
	case len(text) < 3*shown:
		return stars
	}
	return stars + text[len(text)-shown:]
}

type listProvidersReply struct {
	Providers []providerReply `json:"providers" required:"true"`
}

// listProviders handles GET /api/admin/storage/providers: all providers, each with its number of
// mounts and whether its store answers now.
func (a *API) listProviders(c *call, _ struct{}) (listProvidersReply, error) {
	providers, err := a.Lifecycle.StorageProviders(c.ctx())
	reply := listProvidersReply{Providers: []providerReply{}}
	for _, p := range providers {
		reply.Providers = append(reply.Providers, viewProvider(p))
	}
	return reply, err
}

type createProviderInput struct {
	Name            *string          `json:"name" required:"true" maxLength:"100"`
	Type            *string          `json:"type" required:"true" enum:"store_a,store_b,store_c"`
	Endpoint        nullable[string] `json:"endpoint" description:"A public http(s) address without a path; empty for store_a."`
	Region          nullable[string] `json:"region" description:"At most 64 characters; default auto for store_a, otherwise us-east-1."`
	Bucket          *string          `json:"bucket" required:"true" description:"store_a: a directory below the object directory, 1 to 63 letters, digits, dots, underscores and hyphens."`
	AccessKeyID     nullable[string] `json:"accessKeyId" description:"Empty for store_a."`
	SecretAccessKey nullable[string] `json:"secretAccessKey" description:"Empty for store_a."`
	PublicDomain    nullable[string] `json:"publicDomain" description:"A host or an http(s) address, at most 255 characters."`
	UploadDomain    nullable[string] `json:"uploadDomain" description:"A host or an http(s) address, at most 255 characters."`
	PathPrefix      nullable[string] `json:"pathPrefix" description:"Prefix of object keys: segments of letters, digits, dots, underscores and hyphens joined by slashes."`
	UploadMode      *string          `json:"uploadMode" enum:"auto,presigned,worker" default:"auto"`
	Redirect        *bool            `json:"redirect" default:"false"`
}

type updateProviderInput struct {
	ID              string           `path:"id" json:"-"`
	Name            *string          `json:"name" minLength:"1" maxLength:"100"`
	Type            *string          `json:"type" enum:"store_a,store_b,store_c"`
	Endpoint        nullable[string] `json:"endpoint" description:"A public http(s) address without a path; empty for store_a."`
	Region          nullable[string] `json:"region" description:"Empty or null for the default."`
	Bucket          *string          `json:"bucket" minLength:"1" description:"bucket, type and pathPrefix can't change while the provider has objects."`
	AccessKeyID     nullable[string] `json:"accessKeyId" description:"The stored value is kept when this is absent, empty or the masked value."`
	SecretAccessKey nullable[string] `json:"secretAccessKey" description:"The stored value is kept when this is absent or empty."`
	PublicDomain    nullable[string] `json:"publicDomain" description:"Empty or null for none."`
	UploadDomain    nullable[string] `json:"uploadDomain" description:"Empty or null for none."`
	PathPrefix      nullable[string] `json:"pathPrefix" description:"Empty or null for none."`
	UploadMode      *string          `json:"uploadMode" enum:"auto,presigned,worker"`
	Redirect        *bool            `json:"redirect"`
}

type oneProviderReply struct {
	Provider providerReply `json:"provider" required:"true"`
}

// createProvider handles POST /api/admin/storage/providers: it stores the address and keys of an
// object store. It applies the fields to an empty provider; lifecycle fills in the defaults and
// checks the result.
func (a *API) createProvider(c *call, in createProviderInput) (oneProviderReply, error) {
	var p provider.Provider
	change := updateProviderInput{
		Name: in.Name, Type: in.Type, Endpoint: in.Endpoint, Region: in.Region, Bucket: in.Bucket,
		AccessKeyID:     in.AccessKeyID,
		SecretAccessKey: in.SecretAccessKey, PublicDomain: in.PublicDomain, UploadDomain: in.UploadDomain,
		PathPrefix: in.PathPrefix,
		UploadMode: in.UploadMode, Redirect: in.Redirect,
	}
	if err := change.apply(&p); err != nil {
		return oneProviderReply{}, err
	}
	made, err := a.Lifecycle.CreateProvider(c.ctx(), p)
	return oneProviderReply{viewProvider(made)}, err
}

// updateProvider handles PUT /api/admin/storage/providers/{id}: it changes the fields that the
// request has.
func (a *API) updateProvider(c *call, in updateProviderInput) (oneProviderReply, error) {
	changed, err := a.Lifecycle.UpdateProvider(c.ctx(), in.ID, in.apply)
	return oneProviderReply{viewProvider(changed)}, err
}

// apply copies the fields that the request has into the provider. It keeps the stored access key id
// when the request has it masked, and both keys when they are absent or empty. A change between the
// built-in store and S3 clears the fields that the new type does not share. The caller that stores
// the provider checks it as a whole. It returns no error; the signature is that of
// Lifecycle.UpdateProvider.
func (in updateProviderInput) apply(p *provider.Provider) error {
	if kind := valueOr(in.Type, p.Type); (kind == provider.BuiltIn) != (p.Type == provider.BuiltIn) {
		p.Region = "" // built-in and S3 providers have different defaults
	}
	p.Type = valueOr(in.Type, p.Type)
	if p.Type == provider.BuiltIn { // clear the fields of the former type
		p.Endpoint, p.AccessKeyID, p.SecretKey = "", "", ""
	}
	setNullable(&p.Endpoint, in.Endpoint)
	if id := secret.Text(valueOr(in.AccessKeyID.value, "")); id != "" && id.Reveal() != masked(p.AccessKeyID) {
		p.AccessKeyID = id
	}
	if key := valueOr(in.SecretAccessKey.value, ""); key != "" {
		p.SecretKey = secret.Text(key)
	}
	p.Name = valueOr(in.Name, p.Name)
	p.Bucket = valueOr(in.Bucket, p.Bucket)
	p.UploadMode = valueOr(in.UploadMode, p.UploadMode)
	p.Redirect = valueOr(in.Redirect, p.Redirect)
	setNullable(&p.Region, in.Region)
	setNullable(&p.PublicDomain, in.PublicDomain)
	setNullable(&p.UploadDomain, in.UploadDomain)
	setNullable(&p.PathPrefix, in.PathPrefix)
	return nil
}

// deleteProvider handles DELETE /api/admin/storage/providers/{id}: it deletes a provider, which
// must have neither mounts nor objects; lifecycle refuses others with Conflict.
func (a *API) deleteProvider(c *call, in idInput) (none, error) {
	return none{}, a.Lifecycle.DeleteProvider(c.ctx(), in.ID)
}

type testProviderReply struct {
	Connected bool         `json:"connected" required:"true" description:"Write, read, range, delete and multipart work."`
	Message   string       `json:"message" required:"true"`
	Checks    []checkReply `json:"checks" required:"true" description:"For store_a only the first five."`
	LatencyMS *int64       `json:"latencyMs" required:"true" description:"Milliseconds that a read took; null when it failed."`
}

// checkReply is the result of one step of a provider test.
type checkReply struct {
	Name    string `json:"name" required:"true" enum:"write,read,range,delete,multipart,copy,presign,cors,clock"`
	OK      bool   `json:"ok" required:"true"`
	Message string `json:"message" required:"true" description:"What to do about the result, if anything."`
	Reason  string `json:"reason" required:"true" enum:"works,not_tried,no_store,disk,full,locked,credentials,permissions,bucket,region,clock,busy,unsupported,broken,signed_address,cors,cors_headers,cors_etag,no_date,skew" description:"Name of the message."`
}

// testProvider handles POST /api/admin/storage/providers/{id}/test: it writes, reads and deletes
// test objects in the provider's store and reports each step. A store that fails is a result, not
// an error.
func (a *API) testProvider(c *call, in idInput) (testProviderReply, error) {
	report, err := a.Lifecycle.TestProvider(c.ctx(), in.ID, a.BaseURL)
	reply := testProviderReply{Connected: report.Connected, Message: report.Message, Checks: []checkReply{}}
	for _, f := range report.Findings {
		reply.Checks = append(reply.Checks, checkReply{Name: f.Name, OK: f.OK, Message: f.Message, Reason: f.Reason()})
	}
	if report.Latency > 0 {
		latency := report.Latency.Milliseconds()
		reply.LatencyMS = &latency
	}
	return reply, err
}

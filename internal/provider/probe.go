package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"larder/internal/blob"
	"larder/internal/blob/s3"
)

// Limits of a probe (abuse case C65).
const (
	stepTimeout    = 5 * time.Second  // for each step
	cleanUpTimeout = 3 * time.Second  // for removing what the steps have left
	probeTimeout   = 30 * time.Second // for all steps

	probeBodyBytes = 512 // random bytes, written as twice as many characters
	maxProbeAnswer = 64 << 10
)

// Finding is the result of one step of a probe. Its message is one of a few fixed ones.
type Finding struct {
	Name    string // write, read, range, delete, multipart, copy, presign, cors or clock
	OK      bool
	Message string
}

// Report is the result of a probe.
type Report struct {
	Connected bool   // write, read, range, delete and multipart work
	Message   string // one of a few fixed ones
	Findings  []Finding
	Latency   time.Duration // of a read, 0 when it failed
}

// The steps in the order of the report. The direct steps check what clients do without the service,
// so they are for stores that presign.
var (
	essentialSteps = []string{"write", "read", "range", "delete", "multipart"}
	directSteps    = []string{"copy", "presign", "cors", "clock"}
)

// Probe tests a provider's store: as the service uses it and, except for a built-in disk, as a
// browser does on a page of the site at origin (scheme, host, port). A failed step is in the report
// and is no error. Probe deletes the objects that it creates, if it can. The report reveals nothing
// about other services at the endpoint: everything that does not answer like an S3 server gets the
// same message after the same time (abuse case C65). Fault: NotFound.
func (r *Registry) Probe(ctx context.Context, id, origin string) (Report, error) {
	p, err := r.ByID(ctx, id)
	if err != nil {
		return Report{}, err
	}
	return r.probe(ctx, p, origin), nil
}

// probe is Probe for a record that need not be stored.
func (r *Registry) probe(ctx context.Context, p Provider, origin string) Report {
	t := &probeRun{r: r, p: p, origin: origin, body: []byte(r.cfg.IDs.Hex(probeBodyBytes)), found: map[string]Finding{}}
	if err := t.open(ctx); err != nil {
		t.found["write"] = t.finding("write", err)
		return t.report()
	}
	defer t.transport.close()
	all, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	t.run(all)
	if t.transport != nil && t.isStore { // otherwise the date would reveal that something answers
		t.found["clock"] = t.transport.clock()
	}
	t.cleanUp(context.WithoutCancel(ctx))
	return t.report()
}

// probeRun is one run of a probe.
type probeRun struct {
	r         *Registry
	p         Provider
	origin    string
	store     blob.Store
	transport *probeTransport // nil for a disk
	shard     *blob.Shard
	body      []byte

	// the store has proven to be one: it returned the written bytes, or refused it in the S3
	// protocol
	isStore bool
	key     blob.Key
	keys    []blob.Key // created and not known to be deleted
	uploads []blob.Upload
	found   map[string]Finding
	latency time.Duration // see Report
}

// open opens the provider's store for the probe. Of an S3 store the probe can observe the requests
// and end them; a disk is checked first, since one that hangs cannot be interrupted. Error:
// errLocked when the credentials cannot be decrypted.
func (p *probeRun) open(ctx context.Context) (err error) {
	if p.shard, err = blob.NewShard(p.p.PathPrefix, p.r.cfg.Now); err != nil {
		return fmt.Errorf("probe a store: %w", err)
	}
	if p.p.Type == BuiltIn {
		if err := p.r.CheckStore(ctx, p.p); err != nil { // a hanging disk cannot be interrupted
			return err
		}
		p.isStore = true
		p.store, err = p.r.open(p.p)
		return err
	}
	if p.p.CredentialsUnreadable {
		p.isStore = true
		return errLocked
	}
	p.transport = newProbeTransport(p.r.cfg.Egress, p.r.cfg.MachineNow)
	options := p.r.Options(p.p)
	options.Client = p.transport.client()
	p.store, err = s3.Open(options)
	return err
}

// run runs the steps in order and records a finding for each. A step that depends on a failed one
// is left out, so it has no finding.
func (p *probeRun) run(ctx context.Context) {
	p.key = p.newKey()
	var readError error
	if !p.step(ctx, "write", func(ctx context.Context) error {
		if _, err := p.store.Put(ctx, p.key, bytes.NewReader(p.body), p.putOptions()); err != nil {
			return err
		}
		// only reading the object back distinguishes a store from a server that accepts everything
		if readError = p.checkObject(ctx, p.key, 0); readError != nil && !isS3Error(readError) {
			return readError
		}
		return nil
	}) {
		return
	}
	if p.found["read"] = p.finding("read", readError); readError == nil {
		begin := p.r.cfg.Now()
		if p.step(ctx, "range", func(ctx context.Context) error {
			return p.checkObject(ctx, p.key, int64(len(p.body)/3))
		}) {
			p.latency = max(p.r.cfg.Now().Sub(begin), 1)
		}
	}
	p.step(ctx, "multipart", p.multipart)
	if p.transport != nil {
		if readError == nil {
			p.step(ctx, "copy", p.copy)
		}
		if p.step(ctx, "presign", p.presign) {
			p.step(ctx, "cors", p.cors)
		}
	}
	p.step(ctx, "delete", p.delete)
}

// step runs the step name within its time limit, records its finding and reports whether it
// succeeded. Until the store has proven to be one, a failed step takes the whole time limit, so
// that the time reveals nothing either. So does presign, which uses a second address.
func (p *probeRun) step(ctx context.Context, name string, do func(ctx context.Context) error) bool {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	p.transport.setStep(ctx)
	err := do(ctx)
	p.isStore = p.isStore || err == nil || isS3Error(err)
	if err != nil && (!p.isStore || name == "presign") {
		<-ctx.Done()
	}
	p.found[name] = p.finding(name, err)
	return err == nil
}

// newKey returns a key for an object of the probe, which cleanUp deletes.
func (p *probeRun) newKey() blob.Key {
	key := blob.NewKey(p.r.cfg.IDs, p.shard, "check")
	p.keys = append(p.keys, key)
	return key
}

// putOptions returns the options for an object with the body of the probe.
func (p *probeRun) putOptions() blob.PutOptions {
	return blob.PutOptions{Size: int64(len(p.body)), Max: int64(len(p.body))}
}

// errDiffers means that the store returned something else than was written.
var errDiffers = errors.New("the store returns other content than was written")

// checkObject returns errDiffers unless the object has the written content, read from an offset in
// bytes on.
func (p *probeRun) checkObject(ctx context.Context, key blob.Key, offset int64) error {
	object, err := p.store.Open(ctx, key)
	if err != nil {
		return err
	}
	defer object.Close()
	if _, err := object.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	return p.checkBody(object, offset)
}

// checkBody returns errDiffers unless the bytes that from yields are those that the probe wrote,
// from an offset on.
func (p *probeRun) checkBody(from io.Reader, offset int64) error {
	got, err := io.ReadAll(io.LimitReader(from, int64(len(p.body))+1))
	if err == nil && !bytes.Equal(got, p.body[offset:]) {
		err = errDiffers
	}
	return err
}

// multipart is the step that uploads an object in one part. The last part may be small.
func (p *probeRun) multipart(ctx context.Context) error {
	key, size := p.newKey(), int64(len(p.body))
	upload, err := p.store.Begin(ctx, key, size, size, "")
	if err != nil {
		return err
	}
	p.uploads = append(p.uploads, upload)
	part, err := p.store.PutPart(ctx, upload, 1, bytes.NewReader(p.body))
	if err != nil {
		return err
	}
	parts, err := p.store.Parts(ctx, upload)
	if err != nil {
		return err
	}
	if len(parts) != 1 || parts[0].Size != size || strings.Trim(parts[0].ETag, `"`) != strings.Trim(part.ETag, `"`) {
		return errDiffers
	}
	if _, err := p.store.Finish(ctx, upload, parts); err != nil {
		return err
	}
	p.uploads = nil
	return p.checkObject(ctx, key, 0)
}

// copy is the step that makes the server copy the first object. Error: blob.ErrCopyUnsupported.
func (p *probeRun) copy(ctx context.Context) error {
	copier, ok := p.store.(blob.Copier)
	if !ok {
		return blob.ErrCopyUnsupported
	}
	key := p.newKey()
	if _, err := copier.CopyFrom(ctx, key, p.store, p.key, "", ""); err != nil {
		return err
	}
	return p.checkObject(ctx, key, 0)
}

// delete is the step that deletes the first object and checks that it is gone.
func (p *probeRun) delete(ctx context.Context) error {
	if err := p.store.Delete(ctx, p.key); err != nil {
		return err
	}
	_, err := p.store.Stat(ctx, p.key)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		p.keys = p.keys[1:] // the first object
		return nil
	case err == nil:
		return errDiffers
	}
	return err
}

// cleanUp deletes the objects and uploads that the steps have left, even if the request has ended.
// `larder fsck` finds objects that it cannot delete. A store that has not proven to be one takes
// the whole time limit.
func (p *probeRun) cleanUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cleanUpTimeout)
	defer cancel()
	p.transport.setStep(ctx)
	for _, upload := range p.uploads {
		_ = p.store.Abort(ctx, upload) // Delete tries again
	}
	for _, key := range p.keys {
		_ = p.store.Delete(ctx, key)
	}
	if !p.isStore {
		<-ctx.Done()
	}
}

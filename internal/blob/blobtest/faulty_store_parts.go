package blobtest

import (
	"context"
	"io"

	"larder/internal/blob"
)

// Begin begins an upload, or applies the queued fault.
func (f *FaultyStore) Begin(ctx context.Context, key blob.Key, size, partSize int64,
	mimeType string) (blob.Upload, error) {
	fault, err := f.takeFault(ctx, Begin)
	if err != nil {
		return blob.Upload{}, err
	}
	u, err := f.inner.Begin(ctx, key, size, partSize, mimeType)
	if err == nil {
		err = fault.Err
	}
	return u, err
}

// PutPart stores a part, or applies the queued fault. With FailAfter it reads that many bytes of
// the body and stores nothing. With AnswerLost alone it stores the part and returns the fault.
func (f *FaultyStore) PutPart(ctx context.Context, u blob.Upload, number int, body io.Reader) (blob.Part, error) {
	fault, err := f.takeFault(ctx, PutPart)
	if err != nil {
		return blob.Part{}, err
	}
	if fault.Err != nil && fault.FailAfter > 0 {
		if _, err := io.CopyN(io.Discard, body, fault.FailAfter); err != nil && err != io.EOF {
			return blob.Part{}, blob.ErrReader{Err: err}
		}
		return blob.Part{}, fault.Err
	}
	part, err := f.inner.PutPart(ctx, u, number, body)
	if err == nil && fault.Err != nil {
		return blob.Part{}, fault.Err
	}
	return part, err
}

// Parts lists the parts, or applies the queued fault.
func (f *FaultyStore) Parts(ctx context.Context, u blob.Upload) ([]blob.Part, error) {
	fault, err := f.takeFault(ctx, Parts)
	if err != nil {
		return nil, err
	}
	parts, err := f.inner.Parts(ctx, u)
	if err == nil && fault.Err != nil {
		return nil, fault.Err
	}
	return parts, err
}

// Finish finishes an upload, or applies the queued fault.
func (f *FaultyStore) Finish(ctx context.Context, u blob.Upload, parts []blob.Part) (blob.Info, error) {
	fault, err := f.takeFault(ctx, Finish)
	if err != nil {
		return blob.Info{}, err
	}
	info, err := f.inner.Finish(ctx, u, parts)
	if err == nil && fault.Err != nil {
		return blob.Info{}, fault.Err
	}
	return info, err
}

// Abort aborts an upload, or applies the queued fault.
func (f *FaultyStore) Abort(ctx context.Context, u blob.Upload) error {
	fault, err := f.takeFault(ctx, Abort)
	if err == nil {
		err = f.inner.Abort(ctx, u)
	}
	if err == nil {
		err = fault.Err
	}
	return err
}

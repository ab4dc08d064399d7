package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// ListPublic lists a folder as a visitor sees it: of a only the address and the given passwords
// count. Faults: Invalid, NotFound (no mount, or nothing there where a visitor may look),
// PasswordRequired; Unauthorized for everything that visitors may not see, whether or not it
// exists, and for everything while guest access is off.
func (t *Tree) ListPublic(ctx context.Context, a access.Actor, q ListQuery) (Listing, error) {
	return asVisitor(ctx, t, a, func(visitor access.Actor) (Listing, error) { return t.List(ctx, visitor, q) })
}

// RevisionPublic returns the state of the listing that ListPublic returns for a path, which tells
// whether it has changed. Faults: those of ListPublic.
func (t *Tree) RevisionPublic(ctx context.Context, a access.Actor, path vpath.Path) (Revision, error) {
	return asVisitor(ctx, t, a, func(visitor access.Actor) (Revision, error) { return t.Revision(ctx, visitor, path) })
}

// asVisitor calls read with a visitor in place of a, who has the address and the given passwords of
// a but no account. Faults: those of read, with Unauthorized in place of Forbidden; Unauthorized
// while guest access is off.
func asVisitor[Result any](ctx context.Context, t *Tree, a access.Actor,
	read func(visitor access.Actor) (Result, error)) (Result, error) {
	var nothing Result
	v, err := t.currentRules(ctx)
	if err != nil {
		return nothing, err
	}
	if !v.policy.GuestAccess() {
		return nothing, signIn()
	}
	result, err := read(access.Actor{Role: access.Guest, IP: a.IP, Unlocked: a.Unlocked})
	if fault.Is(err, fault.Forbidden) {
		return nothing, signIn()
	}
	return result, err
}

// signIn is the fault Unauthorized for a visitor at something that is not public, existing or not.
func signIn() error { return fault.New(fault.Unauthorized, "Sign in to see this.") }

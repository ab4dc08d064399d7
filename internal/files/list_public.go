package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/fault"
)

// ListPublic is List as a visitor: of a only the address and the given passwords count. Faults:
// Invalid, NotFound (no mount, or nothing there where a visitor may look), PasswordRequired;
// Unauthorized for everything that visitors may not see, whether or not it exists, and for
// everything while guest access is off.
func (t *Tree) ListPublic(ctx context.Context, a access.Actor, q ListQuery) (Listing, error) {
	v, err := t.currentRules(ctx)
	if err != nil {
		return Listing{}, err
	}
	if !v.policy.GuestAccess() {
		return Listing{}, signIn()
	}
	listing, err := t.List(ctx, access.Actor{Role: access.Guest, IP: a.IP, Unlocked: a.Unlocked}, q)
	if fault.Is(err, fault.Forbidden) {
		return Listing{}, signIn()
	}
	return listing, err
}

func signIn() error { return fault.New(fault.Unauthorized, "Sign in to see this.") }

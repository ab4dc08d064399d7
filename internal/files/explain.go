package files

import (
	"context"

	"larder/internal/access"
	"larder/internal/fault"
	"larder/internal/vpath"
)

// Explain returns the decision about the permission perm at a path, existing or not, with a step
// for every rule. It is for administrators and hides nothing. Fault: NotFound when no mount covers
// the path.
func (t *Tree) Explain(ctx context.Context, a access.Actor, p vpath.Path,
	perm access.Permission) (access.Verdict, []access.Step, error) {
	var n node
	v, err := t.readConsistent(ctx, func(v *ruleset) (version int64, err error) {
		n, version, err = v.find(t.DB.Read(ctx), p)
		return version, err
	})
	if err != nil {
		return access.Verdict{}, nil, err
	}
	if !n.mounted() {
		return access.Verdict{}, nil, fault.New(fault.NotFound, "No mount covers this path.")
	}
	verdict, steps := v.policy.Explain(a, n.target(a), perm)
	return verdict, steps, nil
}

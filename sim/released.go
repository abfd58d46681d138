package sim

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/reconciler"
)

// HastyRemoval treats files as removed once their removal has begun.
const HastyRemoval Bug = "forgetting a volume while its files are removed"

// released is the realm of volumes whose claims were deleted. Their files lie in the cabinet, and the faults of pods
// strike them too.
type released struct {
	still
	*world
	faults *faults
}

var _ realm = (*released)(nil)

func (r *released) name() string    { return "ReleasedVolume" }
func (r *released) chance() *faults { return r.faults }
func (r *released) seldom() bool    { return true }

// kind counts what looks show, and has the witness check what is forgotten.
func (r *released) kind(a *agent) reconciler.Kind {
	k := reconciler.ReleasedVolumes(a.store, volumes{r.world, a.store})
	look, do := k.Look, k.Do
	k.Look = func(ctx context.Context, v *corev1.PersistentVolume) (left bool, err error) {
		left, err = look(ctx, v)
		if left {
			r.met.addf("files of a released volume: there")
		} else {
			r.met.addf("files of a released volume: gone, and its record is not")
		}
		return left, err
	}
	k.Do = func(ctx context.Context, action node.Action) error {
		r.forgets(action)
		return do(ctx, action)
	}
	return k
}

// begins plants the bug HastyRemoval.
func (r *released) begins(e *errand) {
	if _, removes := e.action.(node.RemoveFiles); removes && e.agent.bug == HastyRemoval {
		r.after(0, func() { e.answer(nil) })
	}
}

// forgets checks that a volume is forgotten only after its files are gone.
func (r *released) forgets(action node.Action) {
	forget, ok := action.(node.ForgetVolume)
	if !ok {
		return
	}
	if owner, there := r.cabinet.files[forget.Volume.Spec.Local.Path]; there {
		r.witness.failf("volume %s is forgotten while the files of claim %s are there", forget.Volume.Name, owner)
	}
}

func (r *released) unsettled(a *agent) error { return r.claims(a) }

func (r *released) bugs() []planted { return []planted{{HastyRemoval, 1, 500, "is forgotten while"}} }

func (r *released) situations() []string {
	return append(deaths("RemoveFiles", "ForgetVolume"),
		"files of a released volume: there", "files of a released volume: gone, and its record is not",
		"RemoveFiles fails", "RemoveFiles fails after its effect", "RemoveFiles has no answer",
	)
}

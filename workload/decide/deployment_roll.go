package decide

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// surge returns how many pods there may be above the wanted ones.
func (r *rollout) surge() int {
	if rolling := r.of.Spec.Strategy.RollingUpdate; rolling != nil {
		return shareOf(rolling.MaxSurge, r.wanted(), true)
	}
	return 0
}

// spare returns how many of the wanted pods may be away.
func (r *rollout) spare() int {
	rolling := r.of.Spec.Strategy.RollingUpdate
	if rolling == nil || r.wanted() == 0 {
		return 0
	}
	spare := shareOf(rolling.MaxUnavailable, r.wanted(), false)
	if spare == 0 && r.surge() == 0 {
		return 1 // nothing could be replaced otherwise
	}
	return min(spare, r.wanted())
}

func shareOf(of *intstr.IntOrString, all int, up bool) int {
	share, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(of, intstr.FromInt32(0)), all, up)
	if err != nil {
		return 0
	}
	return share
}

// roll replaces the pods of old sets bit by bit.
func (r *rollout) roll() {
	if !r.makeFresh(r.room(0)) {
		return
	}
	if next := r.freshSize(); next != size(r.fresh) {
		r.resize(r.fresh, next)
		return // the old sets shrink by what is available then
	}
	r.shrinkOld()
}

// room returns how many pods the fresh set may have, which has some.
func (r *rollout) room(has int) int {
	free := r.wanted() + r.surge() - r.load()
	if free <= 0 {
		return has
	}
	return has + min(free, max(0, r.wanted()-has))
}

// load counts the pods that there are or will be. A set that has just been made smaller still has those that it gives up.
func (r *rollout) load() (sum int) {
	for _, s := range r.sets {
		sum += max(size(s), r.podsIn(s))
	}
	return sum
}

func (r *rollout) freshSize() int {
	if has := size(r.fresh); has <= r.wanted() {
		return r.room(has)
	}
	return r.wanted()
}

// shrinkOld takes pods from the old sets, so that enough stay available: first those that are not available anyway.
func (r *rollout) shrinkOld() {
	least := r.wanted() - r.spare()
	missing := size(r.fresh) - r.availableOf(r.fresh)
	may := size(r.sets...) - least - missing
	for _, s := range r.old() {
		unwell := min(may, size(s)-r.availableOf(s))
		if unwell > 0 {
			r.resize(s, size(s)-unwell)
			may -= unwell
		}
	}
	well := 0
	for _, s := range r.sets {
		well += r.availableOf(s)
	}
	may = min(may, well-least)
	for _, s := range r.old() {
		if n := min(may, size(s)); n > 0 {
			r.resize(s, size(s)-n)
			may -= n
		}
	}
}

// recreate has all old pods end before the first new one starts.
func (r *rollout) recreate() {
	for _, s := range r.old() {
		r.resize(s, 0)
	}
	for _, s := range r.old() {
		for _, p := range r.pods[s.UID] {
			if !ended(p) {
				return
			}
		}
	}
	if r.makeFresh(r.wanted()) {
		r.resize(r.fresh, r.wanted())
	}
}

// resizePaused changes the number of pods of a paused deployment, and nothing else. The youngest set with pods takes the
// difference, and what it cannot give the others do.
func (r *rollout) resizePaused() {
	excess := size(r.sets...) - r.wanted()
	if r.inTheMiddle() && excess > 0 {
		excess = max(0, excess-r.surge())
	}
	for i := len(r.sets) - 1; i >= 0 && excess != 0; i-- {
		s := r.sets[i]
		has := size(s)
		if has == 0 && (excess > 0 || s != r.fresh && r.anyPods()) {
			continue
		}
		next := max(0, has-excess)
		r.resize(s, next)
		excess -= has - next
	}
}

// inTheMiddle reports whether several sets want pods.
func (r *rollout) inTheMiddle() bool {
	return len(where(r.sets, func(s *appsv1.ReplicaSet) bool { return size(s) > 0 })) > 1
}

func (r *rollout) anyPods() bool { return size(r.sets...) > 0 }

// podsIn counts the active pods of a set.
func (r *rollout) podsIn(s *appsv1.ReplicaSet) int { return len(where(r.pods[s.UID], active)) }

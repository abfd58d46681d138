package decide

import (
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// run is a job with its pods, as the plan finds and leaves them.
type run struct {
	*circle
	of      *batchv1.Job
	next    *batchv1.Job // with the status to be
	pods    []*corev1.Pod
	active  []*corev1.Pod
	refused []*corev1.Pod      // that the node did not take for now
	counted map[types.UID]bool // ended pods that are there and that the status counts
	done    indexes            // that have succeeded, of an indexed job
}

// job has a job run its pods until enough of them have succeeded, or too many failed.
func (c *circle) job(j *batchv1.Job) {
	if c.goes(j) {
		return
	}
	r := &run{circle: c, of: j, next: j.DeepCopy()}
	r.takePods(c.podsOf(j, node.Job, j.Spec.Selector))
	r.countEnded()
	r.clear()
	switch {
	case r.is(batchv1.JobComplete) || r.is(batchv1.JobFailed):
		r.endActive()
		r.replaceFailed(r.refused, 0)
		r.forget()
	case r.suspends():
		r.endActive()
		r.replaceFailed(r.refused, 0)
	default:
		r.goOn()
	}
	r.putStatus()
}

// goOn starts a job, ends it, or makes the pods that it lacks.
func (r *run) goOn() {
	s := &r.next.Status
	if s.StartTime == nil {
		now := metav1.NewTime(r.Now.Truncate(time.Second))
		s.StartTime = &now
	}
	if !r.is(batchv1.JobSuccessCriteriaMet) && !r.is(batchv1.JobFailureTarget) {
		reason, message := r.failed()
		switch {
		case reason != "":
			r.set(batchv1.JobFailureTarget, corev1.ConditionTrue, reason, message)
		case r.succeeded():
			r.set(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods")
		default:
			r.fit()
			return
		}
	}
	r.endActive()
	if len(where(r.pods, func(p *corev1.Pod) bool { return !ended(p) })) > 0 {
		return // they are heard first
	}
	target, final := r.condition(batchv1.JobFailureTarget), batchv1.JobFailed
	if target.Status != corev1.ConditionTrue {
		target, final = r.condition(batchv1.JobSuccessCriteriaMet), batchv1.JobComplete
		now := metav1.NewTime(r.Now.Truncate(time.Second))
		s.CompletionTime = &now
	}
	r.set(final, corev1.ConditionTrue, target.Reason, target.Message)
	r.forget()
}

// countEnded counts pods that have ended since the last status, each once. The status and the list of those that it counts
// are written together.
func (r *run) countEnded() {
	s := &r.next.Status
	r.counted = map[types.UID]bool{}
	was := strings.Split(r.of.Annotations[node.NoteCounted], ",")
	if r.indexed() {
		r.done = indexesIn(s.CompletedIndexes, r.completions())
	}
	for _, p := range r.pods {
		if !ended(p) {
			continue
		}
		r.counted[p.UID] = true
		if slices.Contains(was, string(p.UID)) {
			continue
		}
		switch {
		case p.Status.Phase == corev1.PodFailed:
			s.Failed += count(p.DeletionTimestamp == nil) // what is deleted was stopped, which is no failure of the job
		case !r.indexed():
			s.Succeeded++
		case r.inRange(p):
			r.done = append(r.done, span{indexOf(p), indexOf(p)})
		}
	}
	if r.indexed() {
		r.done = joined(r.done)
		s.CompletedIndexes, s.Succeeded = r.done.text(), int32(r.done.size())
	}
}

func (r *run) indexed() bool {
	mode := r.of.Spec.CompletionMode
	return mode != nil && *mode == batchv1.IndexedCompletion
}

// failed returns why the job cannot succeed any more, in Kubernetes' words.
func (r *run) failed() (reason, message string) {
	spec := &r.of.Spec
	limit := number(spec.BackoffLimit, 6)
	if r.next.Status.Failed > limit || r.restartedTooOften(limit) {
		return batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit"
	}
	if spec.ActiveDeadlineSeconds == nil {
		return "", ""
	}
	deadline := r.next.Status.StartTime.Add(time.Duration(*spec.ActiveDeadlineSeconds) * time.Second)
	if r.Now.Before(deadline) {
		r.plan.again(deadline)
		return "", ""
	}
	return batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline"
}

// restartedTooOften counts the restarts within pods that go on after a failure.
func (r *run) restartedTooOften(limit int32) bool {
	if r.of.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	sum := int32(0)
	for _, p := range r.active {
		for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			sum += s.RestartCount
		}
	}
	return sum > 0 && sum >= limit
}

func (r *run) succeeded() bool {
	if r.of.Spec.Completions == nil {
		return r.next.Status.Succeeded > 0 && len(r.active) == 0
	}
	return r.next.Status.Succeeded >= *r.of.Spec.Completions
}

// fit makes the pods that the job lacks, or ends those that it has too many of. One whose index the job has no more is ended
// first: what it does counts for nothing.
func (r *run) fit() {
	for _, p := range where(r.active, func(p *corev1.Pod) bool { return !r.inRange(p) }) {
		r.plan.add(Change{Do: DeletePod, Pod: p})
	}
	r.active = where(r.active, r.inRange)
	wanted := int(number(r.of.Spec.Parallelism, 1))
	switch completions := r.of.Spec.Completions; {
	case completions != nil:
		wanted = min(wanted, int(*completions)-int(r.next.Status.Succeeded))
	case r.next.Status.Succeeded > 0:
		wanted = min(wanted, len(r.active)) // the first success ends the making of pods
	}
	waiting, replaced := r.replaceFailed(r.refused, wanted-len(r.active))
	if excess := len(r.active) - wanted; excess > 0 {
		for _, p := range leastWanted(r.active)[:excess] {
			r.plan.add(Change{Do: DeletePod, Pod: p})
		}
		return
	}
	if wanted == len(r.active) {
		return
	}
	if due := r.pauseAfterFailures(); r.Now.Before(due) {
		r.plan.again(due)
		return
	}
	r.makePods(r.atOnce(wanted-len(r.active), waiting, replaced))
}

const (
	firstPause = 10 * time.Second
	mostPause  = 10 * time.Minute
	pausing    = 7 // failures after which the pause grows no more
)

// pauseAfterFailures returns when the next pod may start: ten seconds after a failure, and twice as long after each further
// one without a success.
func (r *run) pauseAfterFailures() time.Time {
	var success, failure time.Time
	for _, p := range r.pods {
		if at := endedAt(p); p.Status.Phase == corev1.PodSucceeded && at.After(success) {
			success = at
		}
	}
	failures := 0
	for _, p := range r.pods {
		if at := endedAt(p); p.Status.Phase == corev1.PodFailed && p.DeletionTimestamp == nil && at.After(success) {
			failures++
			if at.After(failure) {
				failure = at
			}
		}
	}
	if failures == 0 {
		return time.Time{}
	}
	return failure.Add(min(mostPause, firstPause<<(min(failures, pausing)-1)))
}

// endActive deletes the pods that have not ended.
func (r *run) endActive() {
	for _, p := range r.active {
		r.plan.add(Change{Do: DeletePod, Pod: p})
	}
}

// forget deletes an ended job when its time has come.
func (r *run) forget() {
	ttl := r.of.Spec.TTLSecondsAfterFinished
	if ttl == nil || r.awaited(r.of) {
		return
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		c := r.condition(kind)
		if c.Status != corev1.ConditionTrue {
			continue
		}
		due := c.LastTransitionTime.Add(time.Duration(*ttl) * time.Second)
		if r.Now.Before(due) {
			r.plan.again(due)
			return
		}
		if apiequality.Semantic.DeepEqual(r.of.Status.Conditions, r.next.Status.Conditions) { // what became of it is known
			r.plan.add(Change{Do: DeleteObject, Value: r.of})
			r.changed[r.of.UID] = true
		} else {
			r.plan.again(r.Now)
		}
		return
	}
}

// suspends notes whether the job is suspended. Its time starts again after that.
func (r *run) suspends() bool {
	suspend := r.of.Spec.Suspend
	if suspend != nil && *suspend {
		r.next.Status.StartTime = nil
		r.set(batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended")
		return true
	}
	if r.is(batchv1.JobSuspended) {
		r.set(batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed")
	}
	return false
}

func (r *run) putStatus() {
	if r.changed[r.of.UID] {
		return
	}
	s := &r.next.Status
	s.Active, s.Ready, s.Terminating = 0, new(int32), new(int32)
	for _, p := range r.pods {
		switch {
		case active(p):
			s.Active++
			*s.Ready += count(ready(p))
		case !ended(p):
			*s.Terminating++
		}
	}
	notes := map[string]string{}
	var counted []string
	for uid := range r.counted {
		counted = append(counted, string(uid))
	}
	slices.Sort(counted)
	if text := strings.Join(counted, ","); text != r.of.Annotations[node.NoteCounted] {
		notes[node.NoteCounted] = text
	}
	if len(notes) > 0 || !apiequality.Semantic.DeepEqual(r.of.Status, r.next.Status) {
		r.plan.add(Change{Do: PutStatus, Value: r.next, Notes: notes})
	}
}

func (r *run) condition(kind batchv1.JobConditionType) batchv1.JobCondition {
	for _, c := range r.next.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return batchv1.JobCondition{}
}

func (r *run) is(kind batchv1.JobConditionType) bool {
	return r.condition(kind).Status == corev1.ConditionTrue
}

func (r *run) set(kind batchv1.JobConditionType, is corev1.ConditionStatus, reason, message string) {
	now := metav1.NewTime(r.Now.Truncate(time.Second))
	next := batchv1.JobCondition{Type: kind, Status: is, Reason: reason, Message: message, LastProbeTime: now, LastTransitionTime: now}
	s := &r.next.Status
	for i, c := range s.Conditions {
		if c.Type == kind {
			if c.Status != is {
				s.Conditions[i] = next
			}
			return
		}
	}
	s.Conditions = append(s.Conditions, next)
}

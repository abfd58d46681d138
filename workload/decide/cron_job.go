package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// clock is a CronJob with its jobs.
type clock struct {
	*circle
	of   *batchv1.CronJob
	next *batchv1.CronJob // with the status to be
	jobs []*batchv1.Job   // oldest first
}

// cronJob makes the job of the latest time of a schedule, unless it was made. The name of a job follows from that time, so no
// crash makes a second one: the job is made first, then its time is noted, and only then may the job be deleted.
func (c *circle) cronJob(of *batchv1.CronJob) {
	if c.goes(of) {
		return
	}
	k := &clock{circle: c, of: of, next: of.DeepCopy()}
	k.jobs = where(c.Jobs, func(j *batchv1.Job) bool { return ownedBy(j, of.UID) && j.DeletionTimestamp == nil })
	slices.SortStableFunc(k.jobs, func(a, b *batchv1.Job) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	k.note()
	if of.Spec.Suspend == nil || !*of.Spec.Suspend {
		k.start()
	}
	k.forget(batchv1.JobComplete, of.Spec.SuccessfulJobsHistoryLimit, 3)
	k.forget(batchv1.JobFailed, of.Spec.FailedJobsHistoryLimit, 1)
	if !apiequality.Semantic.DeepEqual(of.Status, k.next.Status) {
		c.plan.add(Change{Do: PutStatus, Value: k.next})
	}
}

// note writes into the status which jobs run, and when the last one succeeded.
func (k *clock) note() {
	s := &k.next.Status
	s.Active = nil
	for _, j := range k.jobs {
		switch ended := jobEnded(j); {
		case ended == "":
			s.Active = append(s.Active, corev1.ObjectReference{
				APIVersion: batchv1.SchemeGroupVersion.String(), Kind: string(node.Job), Namespace: j.Namespace, Name: j.Name, UID: j.UID,
			})
		case ended == batchv1.JobComplete && j.Status.CompletionTime != nil:
			if last := s.LastSuccessfulTime; last == nil || last.Before(j.Status.CompletionTime) {
				s.LastSuccessfulTime = j.Status.CompletionTime
			}
		}
	}
}

// jobEnded returns how a job has ended; "" if it has not.
func jobEnded(j *batchv1.Job) batchv1.JobConditionType {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.Type
		}
	}
	return ""
}

// start makes the job of the latest time, if that is not over.
func (k *clock) start() {
	times, err := k.schedule()
	if err != nil {
		k.plan.Faults[k.of.UID] = fmt.Sprintf("CronJob %s/%s: %s", k.of.Namespace, k.of.Name, err)
		k.plan.again(k.Now.Add(time.Minute))
		return // its zone is not known here any more: the rules have seen the rest
	}
	now := k.Now.In(times.zone)
	due := times.last(k.since(), now)
	if next := times.next(cmp.Or(due, k.since()), now); !next.IsZero() {
		k.plan.again(next)
	}
	if due.IsZero() || k.late(due) {
		return
	}
	name := fmt.Sprintf("%s-%d", k.of.Name, due.Unix()/60)
	at := metav1.NewTime(due)
	if slices.ContainsFunc(k.Jobs, func(j *batchv1.Job) bool { return j.Namespace == k.of.Namespace && j.Name == name }) {
		k.next.Status.LastScheduleTime = &at // it was made before a crash
		return
	}
	running := where(k.jobs, func(j *batchv1.Job) bool { return jobEnded(j) == "" })
	switch k.of.Spec.ConcurrencyPolicy {
	case batchv1.ForbidConcurrent:
		if slices.ContainsFunc(k.Jobs, func(j *batchv1.Job) bool { return ownedBy(j, k.of.UID) && jobEnded(j) == "" }) {
			return // until these have ended; those that are deleted still have pods
		}
	case batchv1.ReplaceConcurrent:
		for _, j := range running {
			k.plan.add(Change{Do: DeleteObject, Value: j})
		}
	}
	k.plan.add(Change{Do: MakeObject, Value: k.jobAt(name, due)})
}

func (k *clock) jobAt(name string, due time.Time) *batchv1.Job {
	template := k.of.Spec.JobTemplate.DeepCopy()
	made := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: k.of.Namespace, Name: name, Labels: template.Labels, Annotations: maps.Clone(template.Annotations),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(k.of, gvkOf(node.CronJob))},
		},
		Spec: template.Spec,
	}
	if made.Annotations == nil {
		made.Annotations = map[string]string{}
	}
	made.Annotations[batchv1.CronJobScheduledTimestampAnnotation] = due.Format(time.RFC3339)
	made.SetGroupVersionKind(gvkOf(node.Job))
	return made
}

// since returns the time after which no job was made.
func (k *clock) since() time.Time {
	from := k.of.CreationTimestamp.Time
	if last := k.of.Status.LastScheduleTime; last != nil {
		from = last.Time
	}
	return from
}

// late reports whether a job may not be started any more.
func (k *clock) late(due time.Time) bool {
	limit := k.of.Spec.StartingDeadlineSeconds
	return limit != nil && k.Now.After(due.Add(time.Duration(*limit)*time.Second))
}

// forget deletes the oldest jobs that have ended in one way, beyond a limit. One stays until its time is noted: it would be made
// again otherwise.
func (k *clock) forget(how batchv1.JobConditionType, limit *int32, otherwise int32) {
	past := where(k.jobs, func(j *batchv1.Job) bool { return jobEnded(j) == how })
	for _, j := range past[:max(0, len(past)-int(number(limit, otherwise)))] {
		if !unnoted(k.of, j) {
			k.plan.add(Change{Do: DeleteObject, Value: j})
		}
	}
}

// unnoted reports whether the stored status does not tell yet that a job was made at its time.
func unnoted(of *batchv1.CronJob, j *batchv1.Job) bool {
	due, err := time.Parse(time.RFC3339, j.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
	last := of.Status.LastScheduleTime
	return err == nil && (last == nil || last.Time.Before(due))
}

// awaited reports whether a job has to stay until its CronJob has noted its time.
func (c *circle) awaited(j *batchv1.Job) bool {
	return slices.ContainsFunc(c.CronJobs, func(k *batchv1.CronJob) bool { return ownedBy(j, k.UID) && unnoted(k, j) })
}

// times is a schedule in its time zone.
type times struct {
	cron.Schedule
	zone *time.Location
}

func (k *clock) schedule() (times, error) {
	zone := k.Now.Location()
	if name := k.of.Spec.TimeZone; name != nil {
		found, err := k.Zone(*name)
		if err != nil {
			return times{}, err
		}
		zone = found
	}
	parsed, err := cron.ParseStandard(k.of.Spec.Schedule)
	return times{parsed, zone}, err
}

// next returns the first time after one moment, or after another if that is over by then. Intervals run from the moment that they
// are asked for, so no look in the middle of one may begin another.
func (t times) next(after, now time.Time) time.Time {
	if next := t.Next(after.In(t.zone)); next.IsZero() || next.After(now) {
		return next
	}
	return t.Next(now)
}

// last returns the latest time after one moment and not after another; zero if there is none.
func (t times) last(after, until time.Time) time.Time {
	after = after.In(t.zone)
	first := t.Next(after)
	if first.IsZero() || first.After(until) {
		return time.Time{}
	}
	if every, ok := t.Schedule.(cron.ConstantDelaySchedule); ok {
		return first.Add(until.Sub(first).Truncate(every.Delay))
	}
	// Next never goes back as its moment goes on, so the latest moment that has a time can be found by halves.
	low, high := after, until
	for high.Sub(low) > time.Second {
		middle := low.Add(high.Sub(low) / 2)
		if next := t.Next(middle); !next.IsZero() && !next.After(until) {
			low = middle
		} else {
			high = middle
		}
	}
	return t.Next(low)
}

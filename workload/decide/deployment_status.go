package decide

import (
	"fmt"
	"math"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// Kubernetes' reasons, which kubectl rollout status reads.
const (
	newSetAvailable  = "NewReplicaSetAvailable"
	newSetCreated    = "NewReplicaSetCreated"
	setUpdated       = "ReplicaSetUpdated"
	deadlineExceeded = "ProgressDeadlineExceeded"
	paused           = "DeploymentPaused"
	resumed          = "DeploymentResumed"
	notCreated       = "ReplicaSetCreateError"
)

// counts returns the status of the deployment without its conditions.
func (r *rollout) counts() appsv1.DeploymentStatus {
	next := appsv1.DeploymentStatus{
		ObservedGeneration: r.of.Generation, CollisionCount: r.of.Status.CollisionCount, TerminatingReplicas: new(int32),
	}
	for _, s := range r.sets {
		counts := r.replicaSetCounts(s, r.pods[s.UID])
		next.Replicas += counts.Replicas
		next.ReadyReplicas += counts.ReadyReplicas
		next.AvailableReplicas += counts.AvailableReplicas
		*next.TerminatingReplicas += *counts.TerminatingReplicas
		if s == r.fresh {
			next.UpdatedReplicas = counts.Replicas
		}
	}
	next.UnavailableReplicas = max(0, int32(size(r.sets...))-next.AvailableReplicas)
	return next
}

// complete reports whether all wanted pods are of the present template and available, and no others are there.
func (r *rollout) complete() bool {
	now, wanted := r.counts(), int32(r.wanted())
	return r.fresh != nil && now.UpdatedReplicas == wanted && now.Replicas == wanted && now.AvailableReplicas == wanted
}

func (r *rollout) putStatus() {
	next := r.of.DeepCopy()
	next.Status = r.counts()
	next.Status.Conditions = r.of.DeepCopy().Status.Conditions
	r.setAvailable(&next.Status)
	r.setProgressing(&next.Status)
	r.setFailure(&next.Status)
	notes := map[string]string{}
	if r.fresh != nil && revisionOf(r.of) != revisionOf(r.fresh) && revisionOf(r.fresh) > 0 {
		notes[node.NoteRevision] = strconv.FormatInt(revisionOf(r.fresh), 10)
	}
	if len(notes) > 0 || !apiequality.Semantic.DeepEqual(r.of.Status, next.Status) {
		r.plan.add(Change{Do: PutStatus, Value: next, Notes: notes})
	}
}

func (r *rollout) setAvailable(s *appsv1.DeploymentStatus) {
	if int(s.AvailableReplicas) >= r.wanted()-r.spare() {
		r.set(s, appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability.")
	} else {
		r.set(s, appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
	}
}

// setProgressing says how the rollout goes. The time of the last progress is that of the last update of the condition.
func (r *rollout) setProgressing(s *appsv1.DeploymentStatus) {
	had := conditionOf(s, appsv1.DeploymentProgressing)
	limit := number(r.of.Spec.ProgressDeadlineSeconds, 600)
	about := fmt.Sprintf("Deployment %q", r.of.Name)
	if r.fresh != nil {
		about = fmt.Sprintf("ReplicaSet %q", r.fresh.Name)
	}
	yes := func(reason, message string) {
		r.set(s, appsv1.DeploymentProgressing, corev1.ConditionTrue, reason, message)
	}
	done := s.Replicas == s.UpdatedReplicas && had.Reason == newSetAvailable && !r.made
	deadline := had.LastUpdateTime.Add(time.Duration(limit) * time.Second)
	switch {
	case r.of.Spec.Paused:
		r.set(s, appsv1.DeploymentProgressing, corev1.ConditionUnknown, paused, "Deployment is paused")
	case had.Reason == paused:
		r.set(s, appsv1.DeploymentProgressing, corev1.ConditionUnknown, resumed, "Deployment is resumed")
	case r.stuck != "":
		r.set(s, appsv1.DeploymentProgressing, corev1.ConditionFalse, notCreated, r.stuck)
	case r.complete():
		yes(newSetAvailable, about+" has successfully progressed.")
	case done:
	case r.made:
		yes(newSetCreated, "Created new replica set")
	case had.Type == "" || had.Reason == newSetAvailable || had.Reason == notCreated || r.moved(s):
		yes(setUpdated, about+" is progressing.")
		touch(s, metav1.NewTime(r.Now.Truncate(time.Second)))
	case limit == math.MaxInt32 || had.Reason == deadlineExceeded:
	case r.Now.Before(deadline):
		r.plan.again(deadline)
	default:
		r.set(s, appsv1.DeploymentProgressing, corev1.ConditionFalse, deadlineExceeded, about+" has timed out progressing.")
	}
}

// moved reports whether more is done than the last status said.
func (r *rollout) moved(next *appsv1.DeploymentStatus) bool {
	was := &r.of.Status
	return next.UpdatedReplicas > was.UpdatedReplicas || next.Replicas-next.UpdatedReplicas < was.Replicas-was.UpdatedReplicas ||
		next.ReadyReplicas > was.ReadyReplicas || next.AvailableReplicas > was.AvailableReplicas
}

// setFailure repeats what keeps the fresh set from making pods.
func (r *rollout) setFailure(s *appsv1.DeploymentStatus) {
	if r.fresh == nil {
		return
	}
	for _, c := range r.fresh.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure {
			r.set(s, appsv1.DeploymentReplicaFailure, c.Status, c.Reason, c.Message)
			return
		}
	}
	for i, c := range s.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure {
			s.Conditions = append(s.Conditions[:i], s.Conditions[i+1:]...)
			return
		}
	}
}

func conditionOf(s *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return appsv1.DeploymentCondition{}
}

// set sets a condition. One that says the same keeps its times.
func (r *rollout) set(s *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType, is corev1.ConditionStatus, reason, message string) {
	now := metav1.NewTime(r.Now.Truncate(time.Second))
	next := appsv1.DeploymentCondition{
		Type: kind, Status: is, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now,
	}
	for i, c := range s.Conditions {
		if c.Type != kind {
			continue
		}
		if c.Status == is {
			next.LastTransitionTime = c.LastTransitionTime
		}
		if c.Status == is && c.Reason == reason && c.Message == message {
			next.LastUpdateTime = c.LastUpdateTime
		}
		s.Conditions[i] = next
		return
	}
	s.Conditions = append(s.Conditions, next)
}

// touch notes progress.
func touch(s *appsv1.DeploymentStatus, at metav1.Time) {
	for i := range s.Conditions {
		if s.Conditions[i].Type == appsv1.DeploymentProgressing {
			s.Conditions[i].LastUpdateTime = at
		}
	}
}

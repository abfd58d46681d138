package rules

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// mostIndexed bounds the pods of an indexed job that run side by side, as in Kubernetes.
const mostIndexed = 100_000

// Job returns the rules that a defaulted Job breaks, and refuses what the node does not honour of jobs. A job without a
// selector gets one when it is accepted.
func Job(job *batchv1.Job) field.ErrorList {
	c := workload(&job.ObjectMeta)
	c.job(&job.Spec)
	return c.errs
}

func (c workloadCheck) job(spec *batchv1.JobSpec) {
	c.count("parallelism", spec.Parallelism)
	c.count("completions", spec.Completions)
	c.count("backoffLimit", spec.BackoffLimit)
	c.count("ttlSecondsAfterFinished", spec.TTLSecondsAfterFinished)
	c.seconds("activeDeadlineSeconds", spec.ActiveDeadlineSeconds)
	optionalOneOf(c.check, c.spec.Child("completionMode"), spec.CompletionMode, batchv1.NonIndexedCompletion, batchv1.IndexedCompletion)
	if spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion {
		if spec.Completions == nil {
			c.missing(c.spec.Child("completions"), "when completion mode is Indexed")
		}
		if spec.Parallelism != nil && *spec.Parallelism > mostIndexed {
			c.bad(c.spec.Child("parallelism"), *spec.Parallelism, "must be less than or equal to 100000 when completion mode is Indexed")
		}
	}
	if manual := spec.ManualSelector; manual != nil && *manual || spec.Selector != nil {
		c.selector(spec.Selector, &spec.Template)
	}
	c.unhonoured(spec)
	c.template(&spec.Template, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	if deadline := spec.ActiveDeadlineSeconds; deadline != nil && *deadline > math.MaxInt32 {
		c.bad(c.spec.Child("activeDeadlineSeconds"), *deadline, "must be less than or equal to 2147483647")
	}
}

func (c workloadCheck) unhonoured(spec *batchv1.JobSpec) {
	const why = "is not honoured by a node"
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"podFailurePolicy", spec.PodFailurePolicy != nil}, {"successPolicy", spec.SuccessPolicy != nil},
		{"backoffLimitPerIndex", spec.BackoffLimitPerIndex != nil}, {"maxFailedIndexes", spec.MaxFailedIndexes != nil},
		{"scheduling", spec.Scheduling != nil},
		{"managedBy", spec.ManagedBy != nil && *spec.ManagedBy != batchv1.JobControllerName},
		{"podReplacementPolicy", spec.PodReplacementPolicy != nil && *spec.PodReplacementPolicy != batchv1.TerminatingOrFailed},
	} {
		if f.given {
			c.refused(c.spec.Child(f.name), why)
		}
	}
}

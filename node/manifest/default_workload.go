package manifest

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nodal/node"
)

func defaultReplicaSet(set *appsv1.ReplicaSet) {
	set.Status = appsv1.ReplicaSetStatus{}
	setDefaultPtr(&set.Spec.Replicas, 1)
	DefaultTemplate(&set.Spec.Template)
}

const (
	defaultHistory  = 10
	defaultProgress = 600 // seconds
	defaultBackoff  = 6
	quarter         = "25%"
)

func defaultDeployment(d *appsv1.Deployment) {
	d.Status = appsv1.DeploymentStatus{}
	spec := &d.Spec
	setDefaultPtr(&spec.Replicas, 1)
	setDefaultPtr(&spec.RevisionHistoryLimit, defaultHistory)
	setDefaultPtr(&spec.ProgressDeadlineSeconds, defaultProgress)
	setDefault(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		setDefaultPtr(&spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		setDefaultPtr(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString(quarter))
		setDefaultPtr(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString(quarter))
	}
	DefaultTemplate(&spec.Template)
}

func defaultDaemonSet(d *appsv1.DaemonSet) {
	d.Status = appsv1.DaemonSetStatus{}
	spec := &d.Spec
	setDefaultPtr(&spec.RevisionHistoryLimit, defaultHistory)
	setDefault(&spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		setDefaultPtr(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		setDefaultPtr(&spec.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		setDefaultPtr(&spec.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	DefaultTemplate(&spec.Template)
}

func defaultStatefulSet(set *appsv1.StatefulSet) {
	set.Status = appsv1.StatefulSetStatus{}
	spec := &set.Spec
	setDefaultPtr(&spec.Replicas, 1)
	setDefaultPtr(&spec.RevisionHistoryLimit, defaultHistory)
	setDefault(&spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	setDefault(&spec.UpdateStrategy.Type, appsv1.RollingUpdateStatefulSetStrategyType)
	if spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
		setDefaultPtr(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
		setDefaultPtr(&spec.UpdateStrategy.RollingUpdate.Partition, 0)
		setDefaultPtr(&spec.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
	}
	setDefaultPtr(&spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	setDefault(&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	setDefault(&spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	for i := range spec.VolumeClaimTemplates {
		claim := &spec.VolumeClaimTemplates[i]
		setDefault(&claim.APIVersion, "v1")
		setDefault(&claim.Kind, string(node.PersistentVolumeClaim))
		claim.ObjectMeta = authoredMeta(&claim.ObjectMeta)
		defaultPersistentVolumeClaim(claim)
		claim.Status.Phase = corev1.ClaimPending
	}
	DefaultTemplate(&spec.Template)
}

func defaultCronJob(job *batchv1.CronJob) {
	job.Status = batchv1.CronJobStatus{}
	spec := &job.Spec
	setDefault(&spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	setDefaultPtr(&spec.Suspend, false)
	setDefaultPtr(&spec.SuccessfulJobsHistoryLimit, 3)
	setDefaultPtr(&spec.FailedJobsHistoryLimit, 1)
	spec.JobTemplate.CreationTimestamp = metav1.Time{}
	defaultJobSpec(&spec.JobTemplate.Spec)
}

// defaultJob completes a job. Without a number of completions the first success of one of its pods ends it, unless there is
// one pod only.
func defaultJob(job *batchv1.Job) {
	job.Status = batchv1.JobStatus{}
	defaultJobSpec(&job.Spec)
}

func defaultJobSpec(spec *batchv1.JobSpec) {
	if spec.Completions == nil && spec.Parallelism == nil {
		setDefaultPtr(&spec.Completions, 1)
	}
	setDefaultPtr(&spec.Parallelism, 1)
	setDefaultPtr(&spec.BackoffLimit, defaultBackoff)
	setDefaultPtr(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	setDefaultPtr(&spec.Suspend, false)
	setDefaultPtr(&spec.PodReplacementPolicy, batchv1.TerminatingOrFailed)
	setDefaultPtr(&spec.ManualSelector, false)
	DefaultTemplate(&spec.Template)
}

// DefaultTemplate completes a template as if it were a pod. One that is complete stays as it is.
func DefaultTemplate(template *corev1.PodTemplateSpec) {
	template.CreationTimestamp = metav1.Time{}
	pod := &corev1.Pod{Spec: template.Spec}
	Default(pod)
	template.Spec = pod.Spec
}

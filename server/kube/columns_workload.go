package kube

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
)

// programs are the last columns with -o wide of what has a template.
var programs = []string{"Containers", "Images", "Selector"}

// programCells lists the containers of a template, their images and the selector.
func programCells(template *corev1.PodTemplateSpec, selector *metav1.LabelSelector) []any {
	var names, images []string
	for _, c := range template.Spec.Containers {
		names, images = append(names, c.Name), append(images, c.Image)
	}
	return []any{strings.Join(names, ","), strings.Join(images, ","), metav1.FormatLabelSelector(selector)}
}

// counts makes columns of which some hold numbers.
func counts(numbers []string, names []string, wide ...string) []metav1.TableColumnDefinition {
	all := heads(names, wide...)
	for i := range all {
		for _, number := range numbers {
			if all[i].Name == number {
				all[i].Type = "integer"
			}
		}
	}
	return all
}

func wantedOf(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

var replicaSetColumns = columns{
	counts([]string{"Desired", "Current", "Ready"}, []string{"Name", "Desired", "Current", "Ready", "Age"}, programs...),
	typed(func(s *appsv1.ReplicaSet) []any {
		return append([]any{
			s.Name, int64(wantedOf(s.Spec.Replicas)), int64(s.Status.Replicas), int64(s.Status.ReadyReplicas), ageOf(s.CreationTimestamp),
		}, programCells(&s.Spec.Template, s.Spec.Selector)...)
	}),
}

var deploymentColumns = columns{
	counts([]string{"Up-to-date", "Available"}, []string{"Name", "Ready", "Up-to-date", "Available", "Age"}, programs...),
	typed(func(d *appsv1.Deployment) []any {
		return append([]any{
			d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, wantedOf(d.Spec.Replicas)), int64(d.Status.UpdatedReplicas),
			int64(d.Status.AvailableReplicas), ageOf(d.CreationTimestamp),
		}, programCells(&d.Spec.Template, d.Spec.Selector)...)
	}),
}

var daemonSetColumns = columns{
	counts([]string{"Desired", "Current", "Ready", "Up-to-date", "Available"},
		[]string{"Name", "Desired", "Current", "Ready", "Up-to-date", "Available", "Node Selector", "Age"}, programs...),
	typed(func(d *appsv1.DaemonSet) []any {
		s := &d.Status
		return append([]any{
			d.Name, int64(s.DesiredNumberScheduled), int64(s.CurrentNumberScheduled), int64(s.NumberReady), int64(s.UpdatedNumberScheduled),
			int64(s.NumberAvailable), labels.FormatLabels(d.Spec.Template.Spec.NodeSelector), ageOf(d.CreationTimestamp),
		}, programCells(&d.Spec.Template, d.Spec.Selector)...)
	}),
}

var statefulSetColumns = columns{
	heads([]string{"Name", "Ready", "Age"}, "Containers", "Images"),
	typed(func(s *appsv1.StatefulSet) []any {
		return append([]any{s.Name, fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, wantedOf(s.Spec.Replicas)), ageOf(s.CreationTimestamp)},
			programCells(&s.Spec.Template, nil)[:2]...)
	}),
}

var cronJobColumns = columns{
	counts([]string{"Active"}, []string{"Name", "Schedule", "Timezone", "Suspend", "Active", "Last Schedule", "Age"}, programs...),
	typed(func(c *batchv1.CronJob) []any {
		zone, last := "<none>", "<none>"
		if c.Spec.TimeZone != nil {
			zone = *c.Spec.TimeZone
		}
		if at := c.Status.LastScheduleTime; at != nil {
			last = ageOf(*at)
		}
		suspend := "<unset>"
		if c.Spec.Suspend != nil {
			suspend = fmt.Sprintf("%t", *c.Spec.Suspend) // kubectl writes False or True
		}
		return append([]any{
			c.Name, c.Spec.Schedule, zone, suspend, int64(len(c.Status.Active)), last, ageOf(c.CreationTimestamp),
		}, programCells(&c.Spec.JobTemplate.Spec.Template, c.Spec.JobTemplate.Spec.Selector)...)
	}),
}

var revisionColumns = columns{
	counts([]string{"Revision"}, []string{"Name", "Controller", "Revision", "Age"}),
	typed(func(r *appsv1.ControllerRevision) []any {
		return []any{r.Name, ownerText(r), r.Revision, ageOf(r.CreationTimestamp)}
	}),
}

// ownerText names the workload of an object as kubectl does.
func ownerText(of metav1.Object) string {
	owner := metav1.GetControllerOf(of)
	if owner == nil {
		return "<none>"
	}
	group, _, _ := strings.Cut(owner.APIVersion, "/")
	return fmt.Sprintf("%s.%s/%s", strings.ToLower(owner.Kind), group, owner.Name)
}

var jobColumns = columns{
	heads([]string{"Name", "Status", "Completions", "Duration", "Age"}, programs...),
	typed(func(j *batchv1.Job) []any {
		return append([]any{j.Name, jobStanding(j), completionsOf(j), tookOf(j), ageOf(j.CreationTimestamp)},
			programCells(&j.Spec.Template, j.Spec.Selector)...)
	}),
}

// jobStanding returns kubectl's word for how a job is.
func jobStanding(j *batchv1.Job) string {
	has := map[batchv1.JobConditionType]bool{}
	for _, c := range j.Status.Conditions {
		has[c.Type] = c.Status == corev1.ConditionTrue
	}
	switch {
	case has[batchv1.JobComplete]:
		return "Complete"
	case has[batchv1.JobFailed]:
		return "Failed"
	case j.DeletionTimestamp != nil:
		return "Terminating"
	case has[batchv1.JobSuspended]:
		return "Suspended"
	case has[batchv1.JobFailureTarget]:
		return "FailureTarget"
	case has[batchv1.JobSuccessCriteriaMet]:
		return "SuccessCriteriaMet"
	}
	return "Running"
}

func completionsOf(j *batchv1.Job) string {
	if j.Spec.Completions != nil {
		return fmt.Sprintf("%d/%d", j.Status.Succeeded, *j.Spec.Completions)
	}
	parallel := int32(0)
	if j.Spec.Parallelism != nil {
		parallel = *j.Spec.Parallelism
	}
	if parallel > 1 {
		return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, parallel)
	}
	return fmt.Sprintf("%d/1", j.Status.Succeeded)
}

func tookOf(j *batchv1.Job) string {
	switch {
	case j.Status.StartTime == nil:
		return ""
	case j.Status.CompletionTime == nil:
		return duration.HumanDuration(time.Since(j.Status.StartTime.Time))
	}
	return duration.HumanDuration(j.Status.CompletionTime.Sub(j.Status.StartTime.Time))
}

package rules_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"

	"nodal/node"
	"nodal/node/manifest"
)

// workloadText returns a workload with more lines of its spec.
func workloadText(kind, more string) string {
	version, policy := "apps/v1", "Always"
	if kind == "Job" {
		version, policy = "batch/v1", "Never"
	}
	text := "apiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: web}\nspec:\n"
	if kind != "Job" {
		text += "  selector: {matchLabels: {app: web}}\n"
	}
	return text + "  template: {metadata: {labels: {app: web}}, spec: {restartPolicy: " + policy + ", containers: [{name: main, image: a}]}}\n  " + more + "\n"
}

func cronText(schedule, more string) string {
	return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: web}\nspec:\n  schedule: \"" + schedule + "\"\n  " + more +
		"\n  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: a}]}}}}\n"
}

func TestAStatefulSetMountsItsClaims(t *testing.T) {
	text := strings.Replace(workloadText("StatefulSet", "volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]"),
		"image: a", "image: a, volumeMounts: [{name: data, mountPath: /data}]", 1)
	docs, err := manifest.Decode([]byte(text), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := node.As[*appsv1.StatefulSet](docs[0].Object).Spec
	claim := s.VolumeClaimTemplates[0]
	if *s.Replicas != 1 || s.PodManagementPolicy != "OrderedReady" || *s.UpdateStrategy.RollingUpdate.Partition != 0 || claim.Kind != "PersistentVolumeClaim" ||
		*claim.Spec.VolumeMode != "Filesystem" || s.PersistentVolumeClaimRetentionPolicy.WhenDeleted != "Retain" || len(s.Template.Spec.Volumes) != 0 {
		t.Errorf("a stateful set is %+v", s)
	}
}

func TestWorkloadsGetKubernetesDefaults(t *testing.T) {
	docs, err := manifest.Decode([]byte(workloadText("Deployment", "")+"---\n"+workloadText("Job", "")+"---\n"+
		strings.Replace(workloadText("Job", "parallelism: 3"), "name: web", "name: queue", 1)), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := node.As[*appsv1.Deployment](docs[0].Object).Spec
	if *d.Replicas != 1 || *d.RevisionHistoryLimit != 10 || *d.ProgressDeadlineSeconds != 600 || d.Strategy.Type != "RollingUpdate" ||
		d.Strategy.RollingUpdate.MaxSurge.String() != "25%" || d.Strategy.RollingUpdate.MaxUnavailable.String() != "25%" || d.Template.Spec.DNSPolicy != "ClusterFirst" {
		t.Errorf("a deployment is %+v", d)
	}
	j := node.As[*batchv1.Job](docs[1].Object).Spec
	if *j.Completions != 1 || *j.Parallelism != 1 || *j.BackoffLimit != 6 || *j.CompletionMode != "NonIndexed" || *j.Suspend {
		t.Errorf("a job is %+v", j)
	}
	if queue := node.As[*batchv1.Job](docs[2].Object).Spec; queue.Completions != nil || *queue.Parallelism != 3 {
		t.Errorf("a job of a queue is %+v", queue)
	}
}

func TestWorkloadsFollowKubernetesRules(t *testing.T) {
	swap := func(text, old, new string) string { return strings.Replace(text, old, new, 1) }
	for _, c := range []struct {
		name, text string
		fields     []string
	}{
		{"fewer pods than none", workloadText("ReplicaSet", "replicas: -1"), []string{"spec.replicas"}},
		{"no selector", swap(workloadText("ReplicaSet", ""), "  selector: {matchLabels: {app: web}}\n", ""), []string{"spec.selector", "spec.template.metadata.labels"}},
		{"a selector of everything", swap(workloadText("ReplicaSet", ""), "{matchLabels: {app: web}}", "{}"), []string{"spec.selector"}},
		{"a selector of other pods", swap(workloadText("ReplicaSet", ""), "{matchLabels: {app: web}}", "{matchLabels: {app: db}}"), []string{"spec.template.metadata.labels"}},
		{"pods that end", swap(workloadText("ReplicaSet", ""), "Always", "Never"), []string{"spec.template.spec.restartPolicy"}},
		{"a pod that is wrong", swap(workloadText("Deployment", ""), "name: main", "name: A_B"), []string{"spec.template.spec.containers[0].name"}},
		{"pods with a deadline", swap(workloadText("Deployment", ""), "containers:", "activeDeadlineSeconds: 5, containers:"), []string{"spec.template.spec.activeDeadlineSeconds"}},
		{"no way to roll", workloadText("Deployment", "strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0%}}"), []string{"spec.strategy.rollingUpdate.maxUnavailable"}},
		{"more away than there are", workloadText("Deployment", "strategy: {rollingUpdate: {maxUnavailable: 101%}}"), []string{"spec.strategy.rollingUpdate.maxUnavailable"}},
		{"a share that is none", workloadText("Deployment", "strategy: {rollingUpdate: {maxSurge: much}}"), []string{"spec.strategy.rollingUpdate.maxSurge"}},
		{"rolling that recreates", workloadText("Deployment", "strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}"), []string{"spec.strategy.rollingUpdate"}},
		{"another strategy", workloadText("Deployment", "strategy: {type: Blue}"), []string{"spec.strategy"}},
		{"a deadline before pods are available", workloadText("Deployment", "minReadySeconds: 600"), []string{"spec.progressDeadlineSeconds"}},
		{"a selector of one set", swap(swap(workloadText("Deployment", ""), "matchLabels: {app: web}", "matchLabels: {app: web, pod-template-hash: x}"),
			"labels: {app: web}", "labels: {app: web, pod-template-hash: x}"), []string{"spec.selector.matchLabels[pod-template-hash]"}},
		{"an expression of one set", swap(workloadText("Deployment", ""), "matchLabels: {app: web}", "matchLabels: {app: web}, matchExpressions: [{key: pod-template-hash, operator: DoesNotExist}]"),
			[]string{"spec.selector.matchExpressions[0].key"}},
		{"a daemon that ends", swap(workloadText("DaemonSet", ""), "Always", "Never"), []string{"spec.template.spec.restartPolicy"}},
		{"a daemon with no way to roll", workloadText("DaemonSet", "updateStrategy: {rollingUpdate: {maxUnavailable: 0}}"), []string{"spec.updateStrategy.rollingUpdate.maxUnavailable"}},
		{"a daemon that rolls both ways", workloadText("DaemonSet", "updateStrategy: {rollingUpdate: {maxSurge: 1}}"), []string{"spec.updateStrategy.rollingUpdate.maxSurge"}},
		{"another strategy of a daemon", workloadText("DaemonSet", "updateStrategy: {type: Blue}"), []string{"spec.updateStrategy"}},
		{"a revision of nothing", "apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: web}\nrevision: -1\n", []string{"data", "revision"}},
		{"a revision of a list", "apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: web}\nrevision: 1\ndata: [1]\n", []string{"data"}},
		{"a stateful set below nothing", workloadText("StatefulSet", "replicas: -1\n  ordinals: {start: -1}\n  updateStrategy: {rollingUpdate: {partition: -1}}"),
			[]string{"spec.replicas", "spec.ordinals.start", "spec.updateStrategy.rollingUpdate.partition"}},
		{"a stateful set without updates", workloadText("StatefulSet", "updateStrategy: {rollingUpdate: {maxUnavailable: 0}}"), []string{"spec.updateStrategy.rollingUpdate.maxUnavailable"}},
		{"another order", workloadText("StatefulSet", "podManagementPolicy: Sideways"), []string{"spec.podManagementPolicy"}},
		{"claims that are half kept", workloadText("StatefulSet", "persistentVolumeClaimRetentionPolicy: {whenScaled: Half}"), []string{"spec.persistentVolumeClaimRetentionPolicy.whenScaled"}},
		{"a claim of no size", workloadText("StatefulSet", "volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]"),
			[]string{"spec.volumeClaimTemplates[0].spec.resources.requests[storage]"}},
		{"no schedule", cronText("", ""), []string{"spec.schedule"}},
		{"a schedule that is none", cronText("each day", ""), []string{"spec.schedule"}},
		{"a schedule with its zone", cronText("TZ=UTC 1 1 * * *", ""), []string{"spec.schedule"}},
		{"a zone that is none", cronText("@daily", "timeZone: Mars/Base"), []string{"spec.timeZone"}},
		{"a zone that depends", cronText("@daily", "timeZone: local"), []string{"spec.timeZone"}},
		{"another way side by side", cronText("@daily", "concurrencyPolicy: Queue"), []string{"spec.concurrencyPolicy"}},
		{"histories below nothing", cronText("@daily", "startingDeadlineSeconds: -1\n  failedJobsHistoryLimit: -1\n  successfulJobsHistoryLimit: -1"),
			[]string{"spec.startingDeadlineSeconds", "spec.successfulJobsHistoryLimit", "spec.failedJobsHistoryLimit"}},
		{"jobs that are wrong", swap(cronText("@daily", ""), "template:", "backoffLimit: -1, template:"), []string{"spec.jobTemplate.spec.backoffLimit"}},
		{"jobs that a node does not honour", swap(cronText("@daily", ""), "template:", "podReplacementPolicy: Failed, template:"), []string{"spec.jobTemplate.spec.podReplacementPolicy"}},
		{"pods of jobs that restart for ever", swap(cronText("@daily", ""), "Never", "Always"), []string{"spec.jobTemplate.spec.template.spec.restartPolicy"}},
		{"a long name", swap(cronText("@daily", ""), "name: web", "name: "+strings.Repeat("a", 53)), []string{"metadata.name"}},
		{"a job that restarts for ever", swap(workloadText("Job", ""), "Never", "Always"), []string{"spec.template.spec.restartPolicy"}},
		{"indexes without a number", workloadText("Job", "completionMode: Indexed\n  parallelism: 2"), []string{"spec.completions"}},
		{"a job below nothing", workloadText("Job", "backoffLimit: -1\n  ttlSecondsAfterFinished: -1\n  activeDeadlineSeconds: -1"), []string{"spec.backoffLimit", "spec.ttlSecondsAfterFinished", "spec.activeDeadlineSeconds"}},
		{"what a node does not honour", workloadText("Job", "successPolicy: {rules: [{succeededCount: 1}]}\n  podReplacementPolicy: Failed"), []string{"spec.successPolicy", "spec.podReplacementPolicy"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var fields []string
			for _, v := range violations(t, c.text) {
				fields = append(fields, v.Field)
			}
			if !slices.Equal(fields, c.fields) {
				t.Errorf("got %q, want %q", fields, c.fields)
			}
		})
	}
}

package cluster

import (
	"fmt"
	"strings"
	"testing"

	"nodal/test/claim"
	"nodal/test/daemon"
)

const (
	setManifest = `apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: calm, labels: {app: calm}}
spec:
  replicas: 2
  selector: {matchLabels: {app: calm}}
  template:
    metadata: {labels: {app: calm}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "nodal.test/pause:1"}]
`
	deploymentManifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "nodal.test/busybox:1", command: [sh, -c, "exec sleep 1000"]}]
`
	jobManifest = `apiVersion: batch/v1
kind: Job
metadata: {name: sums}
spec:
  completions: 3
  parallelism: 3
  completionMode: Indexed
  ttlSecondsAfterFinished: TTL
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "nodal.test/busybox:1", command: [sh, -c, "echo index=$JOB_COMPLETION_INDEX; exit CODE"]}]
`
)

func jobText(ttl, code int) string {
	return strings.NewReplacer("TTL", fmt.Sprint(ttl), "CODE", fmt.Sprint(code)).Replace(jobManifest)
}

func TestKubectlRunsWorkloadsOnANodeAlone(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "Kubernetes API",
		"a ReplicaSet on a node without a cluster keeps as many pods as it wants, over a kill of the agent too, and kubectl scales it",
		"kubectl create job, wait and logs work for jobs on a node; an ended job goes after its time, and one that fails says so",
		"kubectl rollout status, history, undo, restart, pause and resume work for a Deployment on a node",
		"a DaemonSet runs once on a node that it selects, and kubectl rollout status, history, undo and restart work for it",
		"pods of a StatefulSet keep their names and claims over kubectl rollout undo, and a claim goes with its pod if the set says so",
		"a CronJob makes jobs by its schedule, and kubectl create job --from=cronjob makes one at once",
		"kubectl delete of a workload takes its pods with it, at once or first, or leaves them behind (--cascade)",
	)
	a := startAlone(t)
	a.keepsASet()
	a.runsJobs()
	a.rolls()
	a.runsADaemon()
	a.runsAStatefulSet()
	a.runsAClock()
}

// keepsASet checks a ReplicaSet.
func (a *alone) keepsASet() {
	a.t.Helper()
	a.does("", "api-resources", "deployments", "deploy", "replicasets", "rs", "jobs", "batch/v1")
	a.does(setManifest, "apply -f -", "replicaset.apps/calm created")
	a.does("", "wait --for=jsonpath={.status.readyReplicas}=2 rs/calm --timeout=120s", "condition met")
	a.does("", "get rs -o wide", "DESIRED", "CURRENT", "READY", "CONTAINERS", "calm", "nodal.test/pause:1", "app=calm")
	a.does("", "describe rs calm", "2 current / 2 desired", "2 Running")
	a.does("", "scale rs calm --replicas=3 --current-replicas=2", "scaled")
	a.does("", "wait --for=jsonpath={.status.readyReplicas}=3 rs/calm --timeout=120s", "condition met")
	before := a.does("", "get pods -l app=calm -o name")
	a.node.Kill()
	a.node.Launch()
	a.node.Await("the agent again", func(daemon.Pods) bool { return true }) // kubectl does not wait for it
	a.does("", "scale rs calm --replicas=4", "scaled")
	a.does("", "wait --for=jsonpath={.status.readyReplicas}=4 rs/calm --timeout=120s", "condition met")
	after := a.does("", "get pods -l app=calm -o name")
	for name := range strings.FieldsSeq(before) {
		if !strings.Contains(after, name) {
			a.t.Errorf("%s has not outlasted the agent: %s", name, after)
		}
	}
	if n := len(strings.Fields(after)); n != 4 {
		a.t.Errorf("there are %d pods: %s", n, after)
	}
	first := strings.Fields(after)[0]
	a.does("", "delete "+first+" --grace-period=1", "deleted")
	a.does("", "wait --for=jsonpath={.status.readyReplicas}=4 rs/calm --timeout=120s", "condition met")
	a.does("", "delete rs calm --cascade=orphan", "deleted")
	a.does("", "get pods -l app=calm -o jsonpath={.items[*].metadata.ownerReferences}")
	a.does(setManifest, "apply -f -", "created") // it takes the pods over, and ends those that are too many
	a.does("", "wait --for=jsonpath={.status.replicas}=2 rs/calm --timeout=120s", "condition met")
	a.does("", "delete rs calm --cascade=foreground --timeout=120s", "deleted")
	if left := a.does("", "get pods -l app=calm -o name"); strings.TrimSpace(left) != "" {
		a.t.Errorf("the set has gone before %s", left)
	}
}

// runsJobs checks jobs that succeed and fail.
func (a *alone) runsJobs() {
	a.t.Helper()
	a.does("", "create job once --image=nodal.test/busybox:1 -- echo done", "job.batch/once created")
	a.does("", "wait --for=condition=complete job/once --timeout=120s", "condition met")
	a.does("", "logs job/once", "done")
	a.does("", "get jobs", "STATUS", "COMPLETIONS", "DURATION", "once", "Complete", "1/1")
	a.does(jobText(0, 0), "create -f -", "created")
	a.does("", "wait --for=delete job/sums --timeout=120s")
	a.does(jobText(1000, 0), "create -f -", "created")
	a.does("", "wait --for=condition=complete job/sums --timeout=120s", "condition met")
	a.does("", "get job sums -o jsonpath={.status.completedIndexes}/{.status.succeeded}", "0-2/3")
	a.does("", "logs -l job-name=sums --prefix=false", "index=0", "index=1", "index=2")
	a.does("", "delete job once sums", "deleted")
	a.does(strings.Replace(jobText(1000, 1), "spec:", "spec:\n  backoffLimit: 0", 1), "create -f -", "created")
	a.does("", "wait --for=condition=failed job/sums --timeout=120s", "condition met")
	a.does("", "describe job sums", "0 Active (0 Ready) / 0 Succeeded")
	a.does("", "get job sums -o jsonpath={.status.conditions[*].reason}", "BackoffLimitExceeded")
	a.does("", "delete job sums --cascade=foreground", "deleted")
}

// rolls checks a Deployment.
func (a *alone) rolls() {
	a.t.Helper()
	a.does(deploymentManifest, "apply -f -", "deployment.apps/web created")
	a.does("", "rollout status deploy/web --timeout=120s", "successfully rolled out")
	a.does("", "get deploy -o wide", "READY", "UP-TO-DATE", "AVAILABLE", "web", "2/2")
	a.does("", "wait --for=condition=available deploy/web --timeout=60s", "condition met")
	a.does("", "annotate deploy web kubernetes.io/change-cause=greener", "annotated")
	a.does("", "set env deploy/web COLOR=green", "env updated")
	a.does("", "rollout status deploy/web --timeout=120s", "successfully rolled out")
	a.does("", "exec deploy/web -- env", "COLOR=green")
	a.does("", "rollout history deploy/web", "REVISION", "greener", "2")
	a.does("", "rollout undo deploy/web", "rolled back")
	a.does("", "rollout status deploy/web --timeout=120s", "successfully rolled out")
	a.does("", "get deploy web -o jsonpath={.metadata.annotations.deployment\\.kubernetes\\.io/revision}:{.spec.template.spec.containers[0].env}", "3:")
	a.does("", "rollout restart deploy/web", "restarted")
	a.does("", "rollout status deploy/web --timeout=120s", "successfully rolled out")
	a.does("", "rollout pause deploy/web", "paused")
	a.does("", "set env deploy/web COLOR=red", "env updated")
	a.does("", "wait --for=condition=progressing=unknown deploy/web --timeout=60s", "condition met")
	a.does("", "scale deploy web --replicas=3", "scaled")
	a.does("", "wait --for=jsonpath={.status.readyReplicas}=3 deploy/web --timeout=120s", "condition met")
	a.does("", "rollout resume deploy/web", "resumed")
	a.does("", "rollout status deploy/web --timeout=120s", "successfully rolled out")
	a.does("", "get deploy web -o jsonpath={.status.updatedReplicas}", "3")
	a.does("", "get all", "deployment.apps/web", "replicaset.apps/web-", "pod/web-")
	a.fails(strings.Replace(deploymentManifest, "name: main,", "name: main, ports: [{containerPort: 99999}],", 1), "apply -f -", "spec.template.spec.containers[0].ports[0].containerPort")
	a.fails("", `patch deploy web -p {"spec":{"selector":{"matchLabels":{"app":"other"}}}}`, "selector")
	a.does("", "delete deploy web", "deleted")
	a.does("", "wait --for=delete pod -l app=web --timeout=60s")
	if left := a.does("", "get rs,pods -l app=web -o name"); strings.TrimSpace(left) != "" {
		a.t.Errorf("of the deployment there are left %s", left)
	}
}

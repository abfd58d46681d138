package cluster

import "strings"

const daemonManifest = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: log, annotations: {kubernetes.io/change-cause: first}}
spec:
  selector: {matchLabels: {app: log}}
  template:
    metadata: {labels: {app: log}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "nodal.test/pause:1"}]
`

// runsADaemon checks a DaemonSet.
func (a *alone) runsADaemon() {
	a.t.Helper()
	a.does(daemonManifest, "apply -f -", "daemonset.apps/log created")
	a.does("", "rollout status ds/log --timeout=120s", "successfully rolled out")
	a.does("", "get ds -o wide", "DESIRED", "UP-TO-DATE", "AVAILABLE", "NODE SELECTOR", "log", "app=log")
	a.does("", "set env ds/log COLOR=green", "env updated")
	a.does("", "rollout status ds/log --timeout=120s", "successfully rolled out")
	a.does("", "rollout history ds/log", "REVISION", "first", "2")
	a.does("", "rollout history ds/log --revision=2", "COLOR:", "green")
	a.does("", "rollout undo ds/log", "rolled back")
	a.does("", "rollout status ds/log --timeout=120s", "successfully rolled out")
	a.does("", "get ds log -o jsonpath={.spec.template.spec.containers[0].env}:{.status.updatedNumberScheduled}", ":1")
	a.does("", "get controllerrevisions", "CONTROLLER", "REVISION", "daemonset.apps/log", "3")
	a.fails("", "scale ds log --replicas=2", "there is no such path")
	a.does("", `patch ds log -p {"spec":{"template":{"spec":{"nodeSelector":{"disk":"none"}}}}}`, "patched")
	a.does("", "wait --for=jsonpath={.status.desiredNumberScheduled}=0 ds/log --timeout=60s", "condition met")
	a.does("", "wait --for=delete pod -l app=log --timeout=60s")
	a.does("", "delete ds log", "deleted")
	if left := a.does("", "get controllerrevisions,pods -l app=log -o name"); strings.TrimSpace(left) != "" {
		a.t.Errorf("of the daemon there are left %s", left)
	}
}

const statefulManifest = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: dbs
  selector: {matchLabels: {app: db}}
  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete, whenDeleted: Retain}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}]
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: "nodal.test/busybox:1"
        command: [sh, -c, "echo $COLOR-$(hostname) >> /data/log; exec sleep 1000"]
        volumeMounts: [{name: data, mountPath: /data}]
`

// runsAStatefulSet checks a StatefulSet and its claims.
func (a *alone) runsAStatefulSet() {
	a.t.Helper()
	a.does(statefulManifest, "apply -f -", "statefulset.apps/db created")
	a.does("", "rollout status sts/db --timeout=120s", "partitioned roll out complete: 2 new pods")
	a.does("", "get sts,pvc -o wide", "db", "2/2", "data-db-0", "data-db-1", "Bound")
	a.does("", "set env sts/db COLOR=green", "env updated")
	a.does("", "rollout status sts/db --timeout=120s", "roll out complete")
	a.does("", "exec db-1 -- cat /data/log", "-db-1", "green-db-1")
	a.does("", "rollout undo sts/db", "rolled back")
	a.does("", "rollout status sts/db --timeout=120s", "roll out complete")
	a.does("", "rollout history sts/db", "REVISION", "2", "3")
	a.does("", "scale sts db --replicas=1", "scaled")
	a.does("", "wait --for=delete pod/db-1 pvc/data-db-1 --timeout=60s")
	a.does("", "get pods -l app=db -o name", "pod/db-0")
	a.fails("", `patch sts db -p {"spec":{"serviceName":"other"}}`, "immutable")
	a.does("", "delete sts db --cascade=foreground --timeout=60s", "deleted")
	a.does("", "get pvc data-db-0", "Bound")
	a.does("", "delete pvc data-db-0", "deleted")
}

const clockManifest = `apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "@every 1s"
  timeZone: Etc/UTC
  concurrencyPolicy: Forbid
  successfulJobsHistoryLimit: 2 # of two jobs of the same second, the name decides which one is older
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: "nodal.test/busybox:1", command: [echo, tock]}]
`

// runsAClock checks a CronJob. Its jobs start at most once in a minute, so the first one is waited for.
func (a *alone) runsAClock() {
	a.t.Helper()
	a.does(clockManifest, "apply -f -", "cronjob.batch/tick created")
	a.does("", "wait --for=jsonpath={.status.lastSuccessfulTime} cj/tick --timeout=120s", "condition met")
	a.does("", `patch cj tick -p {"spec":{"suspend":true}}`, "patched")
	a.does("", "get cj -o wide", "SCHEDULE", "TIMEZONE", "SUSPEND", "LAST SCHEDULE", "tick", "@every 1s", "Etc/UTC")
	a.does("", "create job tack --from=cronjob/tick", "job.batch/tack created")
	a.does("", "wait --for=condition=complete job/tack --timeout=120s", "condition met")
	a.does("", "logs job/tack", "tock")
	a.does("", "describe cj tick", "@every 1s", "Forbid")
	a.fails(strings.Replace(clockManifest, "@every 1s", "each day", 1), "apply -f -", "spec.schedule")
	a.does("", "delete cj tick --cascade=foreground --timeout=60s", "deleted")
	if left := a.does("", "get jobs -o name"); strings.TrimSpace(left) != "" {
		a.t.Errorf("of the clock there are left %s", left)
	}
}

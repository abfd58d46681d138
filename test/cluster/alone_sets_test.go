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

package soak

import (
	"fmt"
	"strings"

	nodev1 "nodal/api/gen/node/v1"
)

// kind is a pod's way of life.
type kind struct {
	spec   string
	there  func(*nodev1.Pod) bool // it has come as far as it comes
	serves bool                   // it runs until it is deleted
}

// words replace those of a spec by what the runtime runs.
type words struct{ run, done, fail, check, absent, command string }

// simulated are programs of package sim/cri.
var simulated = words{
	run: "[log, hello, run]", done: "[log, done, exit, '0']", fail: "[err, fails, exit, '3']", check: "[exit, '0']",
	absent: "image: nodal.test/absent-NAME:1", command: "exit 0",
}

// shell are programs of the test image.
var shell = words{
	run:  `[sh, -c, "trap 'exit 0' TERM; echo hello; while :; do sleep 1000 & wait; done"]`,
	done: "[sh, -c, 'echo done']", fail: "[sh, -c, 'echo no >&2; exit 3']", check: "['true']",
	absent: "image: nodal.test/busybox:absent, imagePullPolicy: Never", command: "true",
}

func ready(p *nodev1.Pod) bool { return p.GetReady() }

// over reports whether a pod has ended. One that would succeed fails if its shim is killed.
func over(p *nodev1.Pod) bool {
	return p.GetPhase() == nodev1.PodPhase_POD_PHASE_SUCCEEDED || p.GetPhase() == nodev1.PodPhase_POD_PHASE_FAILED
}

var kinds = []kind{
	{serves: true, there: ready, spec: `
  volumes:
  - {name: data, emptyDir: {}}
  - {name: memory, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
  - {name: settings, configMap: {name: NAME}}
  - {name: all, projected: {sources: [{secret: {name: NAME}}, {configMap: {name: NAME}}, {downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}]}}
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: RUN
    env: [{name: VERSION, value: "0"}, {name: KEY, valueFrom: {secretKeyRef: {name: NAME, key: key}}}]
    readinessProbe: {exec: {command: CHECK}, periodSeconds: 1}
    livenessProbe: {exec: {command: CHECK}, periodSeconds: 1}
    lifecycle: {postStart: {exec: {command: CHECK}}, preStop: {exec: {command: CHECK}}}
    volumeMounts: [{name: data, mountPath: /data}, {name: memory, mountPath: /memory}, {name: settings, mountPath: /settings}, {name: all, mountPath: /all}]
`},
	{serves: true, there: ready, spec: `
  containers: [{name: main, image: nodal.test/busybox:1, command: RUN, env: [{name: VERSION, value: "0"}], ports: [{containerPort: 80, hostPort: HOSTPORT}]}]
`},
	{there: over, spec: `
  restartPolicy: Never
  containers: [{name: main, image: nodal.test/busybox:1, command: DONE}]
`},
	{there: over, spec: `
  restartPolicy: Never
  containers: [{name: main, image: nodal.test/busybox:1, command: FAIL}]
`},
	{there: func(p *nodev1.Pod) bool { return p.GetRestarts() > 0 }, spec: `
  containers: [{name: main, image: nodal.test/busybox:1, command: FAIL}]
`},
	{serves: true, there: ready, spec: `
  initContainers:
  - {name: first, image: nodal.test/busybox:1, command: DONE}
  - {name: beside, image: nodal.test/busybox:1, command: RUN, restartPolicy: Always}
  containers: [{name: main, image: nodal.test/busybox:1, command: RUN, env: [{name: VERSION, value: "0"}]}]
`},
	{there: func(p *nodev1.Pod) bool { return strings.Contains(p.GetReason(), "Image") }, spec: `
  containers: [{name: main, ABSENT, command: RUN}]
`},
	{serves: true, there: ready, spec: `
  containers: [{name: main, image: nodal.test/busybox:1, command: RUN, env: [{name: VERSION, value: "0"}]}]
`},
}

// version begins the variable whose change replaces a pod.
const version = "{name: VERSION, value: "

// manifest returns the crowd's pod i with its ConfigMap and Secret.
func (s *soak) manifest(name string, i int) string {
	return strings.NewReplacer(
		"RUN", s.words.run, "DONE", s.words.done, "FAIL", s.words.fail, "CHECK", s.words.check,
		"ABSENT", strings.ReplaceAll(s.words.absent, "NAME", name), "NAME", name, "HOSTPORT", fmt.Sprint(30500+i),
	).Replace(`---
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME}
data: {mode: fast}
---
apiVersion: v1
kind: Secret
metadata: {name: NAME}
stringData: {key: secret-of-NAME}
---
apiVersion: v1
kind: Pod
metadata: {name: NAME, labels: {app: soak}}
spec:
  terminationGracePeriodSeconds: 1` + kinds[i%len(kinds)].spec)
}

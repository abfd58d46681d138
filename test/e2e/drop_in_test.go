package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
)

// dropIn holds pods that tell a kubelet in upstream's place from upstream's.
const dropIn = `apiVersion: v1
kind: ConfigMap
metadata: {name: away}
data:
  far: |
    #!/bin/sh
    printf 'HTTP/1.0 302 Found\nLocation: http://192.0.2.1/\n\n'
---
apiVersion: v1
kind: Pod
metadata: {name: redirected}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: pages, configMap: {name: away, defaultMode: 0755}}]
  initContainers:
  - name: side
    image: nodal.test/busybox:1
    restartPolicy: Always
    command: [httpd, -f, -p, "8080", -h, /www]
    volumeMounts: [{name: pages, mountPath: /www/cgi-bin}]
    livenessProbe: {httpGet: {path: /cgi-bin/far, port: 8080}, periodSeconds: 1, failureThreshold: 1, initialDelaySeconds: 1, timeoutSeconds: 10}
  containers:
  - {name: main, image: "nodal.test/busybox:1", command: [sleep, "1000"]}
---
apiVersion: v1
kind: Pod
metadata: {name: never}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  volumes: [{name: shared, emptyDir: {}}]
  initContainers:
  - name: init
    image: nodal.test/busybox:1
    command: [sh, -c, "echo once >>/shared/inits"]
    volumeMounts: [{name: shared, mountPath: /shared}]
  containers:
  - name: main
    image: nodal.test/busybox:1
    restartPolicy: Never
    restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]
    command: [sh, -c, "[ -e /shared/again ] && exec sleep 1000; touch /shared/again; exit 42"]
    volumeMounts: [{name: shared, mountPath: /shared}]
---
apiVersion: v1
kind: Pod
metadata: {name: grouped}
spec:
  terminationGracePeriodSeconds: 1
  securityContext: {runAsUser: 1001, fsGroup: 5000}
  volumes: [{name: data, emptyDir: {}}]
  initContainers:
  - name: first
    image: nodal.test/busybox:1
    command: [touch, /part/file]
    volumeMounts: [{name: data, mountPath: /part, subPath: made/now}]
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sleep, "1000"]
    volumeMounts: [{name: data, mountPath: /whole}]
`

func TestWhatUpstreamsUsersExpect(t *testing.T) {
	claim.Shows(t, "Probes",
		"a sidecar whose liveness probe is redirected to another host goes on, with the event ProbeWarning in upstream's words",
	)
	claim.Shows(t, "Containers",
		"init containers do not run again when a container of a pod with restartPolicy Never is restarted by its rules",
	)
	claim.Shows(t, "Volumes",
		"an emptyDir that is first mounted by a subPath has its fsGroup and its mode all the same",
	)
	n := start(t)
	events := n.follow("/v1/events:watch")
	n.apply(dropIn)
	for _, name := range []string{"redirected", "never", "grouped"} {
		n.waitRunning(name)
	}
	if told := events.until("Probe terminated redirects"); !strings.Contains(told, `"ProbeWarning"`) || !strings.Contains(told, `"side"`) {
		t.Errorf("the event is %s", told)
	}
	p := n.wait("redirected", "its sidecar is ready", func(p *corev1.Pod) bool {
		return len(p.Status.InitContainerStatuses) == 1 && p.Status.InitContainerStatuses[0].Ready
	})
	if got := p.Status.InitContainerStatuses[0].RestartCount; got != 0 {
		t.Errorf("the sidecar has restarted %d times", got)
	}
	n.wait("never", "its container has restarted", func(p *corev1.Pod) bool {
		s := containerStatus(p, "main")
		return s.RestartCount == 1 && s.State.Running != nil
	})
	if got := n.inside("never", "main", "cat /shared/inits"); got != "once\n" {
		t.Errorf("the init container has written %q, want one line", got)
	}
	for script, want := range map[string]string{
		"stat -c '%a %g' /whole": "2777 5000\n", "stat -c %g /whole/made/now/file": "5000\n", "ls /whole/made/now": "file\n",
	} {
		if got := n.inside("grouped", "main", script); got != want {
			t.Errorf("%s: got %q, want %q", script, got, want)
		}
	}
}

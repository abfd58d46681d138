package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
)

// ways is a pod with probes of every kind. Three of its containers are healthy until a file of
// their name appears in the volume that they share.
const ways = `apiVersion: v1
kind: ConfigMap
metadata: {name: pages}
data:
  well: |
    #!/bin/sh
    [ "$HTTP_HOST $HTTP_X_FROM" = "me.example probe" -a ! -e /shared/http ] && echo "HTTP/1.0 200 OK" || echo "HTTP/1.0 500 Sick"
    echo
  near: |
    #!/bin/sh
    printf 'HTTP/1.0 302 Found\nLocation: /cgi-bin/gone\n\n'
  far: |
    #!/bin/sh
    printf 'HTTP/1.0 302 Found\nLocation: http://192.0.2.1/\n\n'
---
apiVersion: v1
kind: Pod
metadata: {name: ways}
spec:
  terminationGracePeriodSeconds: 1
  volumes:
  - {name: shared, emptyDir: {}}
  - {name: pages, configMap: {name: pages, defaultMode: 0755}}
  containers:
  - name: http
    image: nodal.test/busybox:1
    command: [httpd, -f, -p, "8080", -h, /www]
    volumeMounts: [{name: shared, mountPath: /shared}, {name: pages, mountPath: /www/cgi-bin}]
    startupProbe: {tcpSocket: {port: 8080}, periodSeconds: 1, failureThreshold: 100}
    livenessProbe:
      httpGet: {path: /cgi-bin/well, port: 8080, httpHeaders: [{name: Host, value: me.example}, {name: X-From, value: probe}]}
      periodSeconds: 1
      timeoutSeconds: 10
  - name: tcp
    image: nodal.test/busybox:1
    command: [sh, -c, "httpd -p 9001 -h /tmp; until [ -e /shared/tcp ]; do sleep 0.1; done; killall httpd; exec sleep 1000"]
    volumeMounts: [{name: shared, mountPath: /shared}]
    startupProbe: {tcpSocket: {port: 9001}, periodSeconds: 1, failureThreshold: 100}
    livenessProbe: {tcpSocket: {port: 9001}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 10}
  - name: grpc
    image: nodal.test/probe:1
    args: [health, "9002", /shared/grpc]
    volumeMounts: [{name: shared, mountPath: /shared}]
    startupProbe: {grpc: {port: 9002}, periodSeconds: 1, failureThreshold: 100}
    livenessProbe: {grpc: {port: 9002}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 10}
  - name: near
    image: nodal.test/busybox:1
    command: [sleep, "1000"]
    volumeMounts: [{name: shared, mountPath: /shared}]
    readinessProbe: {httpGet: {path: /cgi-bin/near, port: 8080}, periodSeconds: 1}
  - name: far
    image: nodal.test/busybox:1
    command: [sleep, "1000"]
    readinessProbe: {httpGet: {path: /cgi-bin/far, port: 8080}, periodSeconds: 1}
  - name: sealed
    image: nodal.test/probe:1
    args: [https, "9443"]
    readinessProbe: {httpGet: {scheme: HTTPS, port: 9443}, periodSeconds: 1}
  - name: unsealed
    image: nodal.test/busybox:1
    command: [sleep, "1000"]
    readinessProbe: {httpGet: {scheme: HTTPS, port: 8080}, periodSeconds: 1}
  - name: slow
    image: nodal.test/busybox:1
    command: [sleep, "1000"]
    readinessProbe: {exec: {command: [sleep, "100"]}, periodSeconds: 1, timeoutSeconds: 1}
`

func TestProbesOfEveryKind(t *testing.T) {
	claim.Shows(t, "Probes",
		"liveness probes by HTTP, by TCP and by gRPC restart their containers, and those alone",
		"a probe by HTTP sends its configured headers, even Host",
		"a redirect to the same host is followed; one to another host is a success with the event ProbeWarning",
		"a probe by HTTPS accepts an untrusted, expired certificate, but no answer in plain text",
		"a command that does not end within its probe's timeout has failed",
	)
	n := start(t)
	events := map[string]*tail{}
	for _, container := range []string{"near", "far", "unsealed", "slow"} {
		events[container] = n.follow("/v1/events:watch")
	}
	n.apply(ways)
	for container, want := range map[string]string{
		"near":     "HTTP probe failed with statuscode: 404 (GET http://",
		"far":      "Probe terminated redirects, Response body: none; it leads to http://192.0.2.1/",
		"unsealed": "server gave HTTP response to HTTPS client",
		"slow":     `command timed out: \"sleep 100\" timed out after 1s`,
	} {
		if told := events[container].until(want); (container == "far") != strings.Contains(told, `"ProbeWarning"`) {
			t.Errorf("%s: the event is %s", container, told)
		}
	}
	p := n.wait("ways", "a redirect and a bad certificate taken for an answer", func(p *corev1.Pod) bool {
		return containerStatus(p, "far").Ready && containerStatus(p, "sealed").Ready
	})
	for _, container := range []string{"near", "unsealed", "slow"} {
		if containerStatus(p, container).Ready {
			t.Errorf("container %s is ready", container)
		}
	}
	sick := map[string]bool{}
	for _, container := range []string{"http", "tcp", "grpc"} {
		sick[container] = true
		n.inside("ways", "near", "touch /shared/"+container)
		p = n.wait("ways", container+" restarted", func(p *corev1.Pod) bool { return containerStatus(p, container).RestartCount > 0 })
		n.inside("ways", "near", "rm /shared/"+container)
		for _, s := range p.Status.ContainerStatuses {
			if restarted := s.RestartCount > 0; restarted != sick[s.Name] {
				t.Errorf("with %s sick container %s has restarted %d times", container, s.Name, s.RestartCount)
			}
		}
	}
}

func TestPodThatEndsIsProbedForReadinessAlone(t *testing.T) {
	claim.Shows(t, "Probes", "while a pod ends, readiness probes go on and liveness probes stop")
	n := start(t)
	leaving := n.hooked("leaving", "terminationGracePeriodSeconds: 100").list("containers").
		runs("main", "touch /ready /alive; trap 'rm /ready /alive; until [ -e /story/go ]; do sleep 0.1; done; "+says("done")+"; exit 0' TERM; "+loop,
			"readinessProbe: {exec: {command: [test, -f, /ready]}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 10}",
			"livenessProbe: {exec: {command: [test, -f, /alive]}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 10}").
		apply()
	n.waitRunning("leaving")
	if got := n.curl("/v1/namespaces/default/pods/leaving", "-X", "DELETE"); got.code != 200 {
		t.Fatalf("delete: got %s, want 200", got)
	}
	n.wait("leaving", "unready and not gone", func(p *corev1.Pod) bool {
		return p.DeletionTimestamp != nil && condition(p, corev1.PodReady) == corev1.ConditionFalse
	})
	if got := n.curl("/v1/events?namespace=default&name=leaving"); strings.Contains(got.body, "Liveness probe") {
		t.Errorf("its events speak of its liveness: %s", got.body)
	}
	leaving.lets("go")
	n.waitGone("leaving")
	leaving.wantStory("done")
}

package cluster

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// specimen is a pod that both kubelets run.
type specimen struct {
	name, spec string
	settled    func(*corev1.Pod) bool // its status tells what has become of it
}

const busybox = `image: "nodal.test/busybox:1"`

// specimens are pods of every fate.
var specimens = []specimen{
	{"plain", "  containers:\n  - {name: main, " + busybox + `, command: [sh, -c, "exec sleep 1000"]}`, ready},
	{"steps", `  initContainers:
  - {name: first, ` + busybox + `, command: ["true"]}
  - {name: side, ` + busybox + `, restartPolicy: Always, command: [sh, -c, "exec sleep 1000"]}
  containers:
  - {name: main, ` + busybox + `, command: [sh, -c, "exec sleep 1000"]}`, ready},
	{"probed", `  containers:
  - name: main
    ` + busybox + `
    command: [sh, -c, "exec sleep 1000"]
    startupProbe: {exec: {command: ["true"]}, periodSeconds: 1, timeoutSeconds: 60}
    readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1, timeoutSeconds: 60}
    livenessProbe: {exec: {command: ["true"]}, periodSeconds: 1, timeoutSeconds: 60}`, ready},
	{"unwell", `  containers:
  - name: main
    ` + busybox + `
    command: [sh, -c, "exec sleep 1000"]
    livenessProbe: {exec: {command: [sh, -c, "echo ill; exit 1"]}, periodSeconds: 1, timeoutSeconds: 60, failureThreshold: 2}`, restarted(1)},
	{"unready", `  containers:
  - name: main
    ` + busybox + `
    command: [sh, -c, "exec sleep 1000"]
    readinessProbe: {exec: {command: [sh, -c, "echo ill; exit 1"]}, periodSeconds: 1, timeoutSeconds: 60}`, started},
	{"mute", `  containers:
  - name: main
    ` + busybox + `
    command: [sh, -c, "exec sleep 1000"]
    readinessProbe: {exec: {command: ["false"]}, periodSeconds: 1, timeoutSeconds: 60}`, started},
	{"redirected", `  containers:
  - name: main
    ` + busybox + `
    command:
    - sh
    - -c
    - |
      mkdir -p /tmp/cgi-bin
      printf '#!/bin/sh\nprintf "HTTP/1.0 302 Found\\nLocation: http://192.0.2.1/\\n\\n"\n' >/tmp/cgi-bin/away
      chmod +x /tmp/cgi-bin/away
      httpd -p 8080 -h /tmp
      touch /tmp/on
      exec sleep 1000
    startupProbe: {exec: {command: [sh, -c, "until [ -e /tmp/on ]; do sleep 0.1; done"]}, periodSeconds: 1, timeoutSeconds: 60}
    readinessProbe: {httpGet: {path: /cgi-bin/away, port: 8080}, periodSeconds: 1, timeoutSeconds: 60}`, ready},
	{"crash", "  containers:\n  - {name: main, " + busybox + `, command: [sh, -c, "exit 1"]}`, waitsInSandbox("CrashLoopBackOff")},
	{"unstarted", "  containers:\n  - {name: main, " + busybox + `, command: [/no/such/program]}`, waitsInSandbox("CrashLoopBackOff")},
	{"keyless", "  containers:\n  - {name: main, " + busybox + ", env: [{name: MODE, valueFrom: {configMapKeyRef: {name: missing, key: mode}}}]}",
		waitsInSandbox("CreateContainerConfigError")},
	{"done", "  restartPolicy: Never\n  containers:\n  - {name: main, " + busybox + `, command: ["true"]}`, ended},
	{"failed", "  restartPolicy: OnFailure\n  activeDeadlineSeconds: 600\n  containers:\n  - {name: main, " + busybox +
		`, command: [sh, -c, "echo bye > /dev/termination-log; exit 0"]}` + "\n  - {name: other, " + busybox + `, command: ["true"]}`, ended},
	{"lost", "  restartPolicy: Never\n  containers:\n  - {name: main, " + busybox +
		`, command: [sh, -c, "exit 3"]}` + "\n  - {name: other, " + busybox + `, command: ["true"]}`, ended},
	{"pull", "  containers:\n  - {name: main, image: \"nodal.test/nothing:1\"}", waitsInSandbox("ImagePullBackOff")},
	{"never", "  containers:\n  - {name: main, image: \"nodal.test/nothing:2\", imagePullPolicy: Never}", waitsInSandbox("ErrImageNeverPull")},
	{"misnamed", "  containers:\n  - {name: main, image: \"Bad:::name\"}", waits("InvalidImageName")},
	{"unset", "  containers:\n  - {name: main, " + busybox + ", envFrom: [{configMapRef: {name: missing}}]}", waitsInSandbox("CreateContainerConfigError")},
	{"files", `  containers:
  - name: main
    ` + busybox + `
    command: [sh, -c, "exec sleep 1000"]
    env: [{name: MODE, valueFrom: {configMapKeyRef: {name: settings, key: mode}}}]
    volumeMounts: [{name: disk, mountPath: /disk}, {name: settings, mountPath: /settings}, {name: login, mountPath: /login, readOnly: true}]
  volumes:
  - {name: disk, emptyDir: {}}
  - {name: settings, configMap: {name: settings}}
  - {name: login, secret: {secretName: login}}`, ready},
	{"unmounted", "  containers:\n  - {name: main, " + busybox + ", volumeMounts: [{name: login, mountPath: /login}]}\n" +
		"  volumes: [{name: login, secret: {secretName: missing}}]", waits("ContainerCreating")},
	{"claimless", "  automountServiceAccountToken: false\n  initContainers:\n  - {name: first, " + busybox + ", command: [\"true\"]}\n  containers:\n  - {name: main, " + busybox +
		", resources: {requests: {cpu: 10m}}, volumeMounts: [{name: data, mountPath: /data}]}\n" +
		"  volumes: [{name: data, persistentVolumeClaim: {claimName: missing}}]", waits("PodInitializing")},
	{"burstable", "  containers:\n  - {name: main, " + busybox + `, command: [sh, -c, "exec sleep 1000"]` +
		", resources: {requests: {cpu: 10m, memory: 8Mi}, limits: {memory: 32Mi}}}", ready},
	{"guaranteed", "  containers:\n  - {name: main, " + busybox + `, command: [sh, -c, "exec sleep 1000"]` +
		", resources: {limits: {cpu: 10m, memory: 16Mi}}}", ready},
	{"hostly", "  hostNetwork: true\n  containers:\n  - {name: main, " + busybox + `, command: [sh, -c, "exec sleep 1000"]}`, ready},
	{"greedy", "  containers:\n  - {name: main, " + busybox + ", resources: {requests: {cpu: 1000}}}", ended},
	{"astray", "  nodeSelector: {no: such}\n  containers:\n  - {name: main, " + busybox + "}", ended},
	{"absent", "  restartPolicy: Never\n  containers:\n  - {name: main, " + busybox + `, command: [/no/such/program]}`, ended},
	{"late", "  containers:\n  - {name: main, " + busybox + `, command: [sh, -c, "exec sleep 1000"]}`, ready},
	{"swollen", "  restartPolicy: Never\n  containers:\n  - {name: main, " + busybox +
		`, command: [sh, -c, "exec tail /dev/zero"], resources: {limits: {memory: 16Mi}}}`, ended},
	{"hooked", "  restartPolicy: Never\n  containers:\n  - name: main\n    " + busybox + `
    command: [sh, -c, "exec sleep 1000"]
    lifecycle: {postStart: {exec: {command: [sh, -c, "echo no; exit 1"]}}}`, ended},
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

func started(p *corev1.Pod) bool {
	return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Running != nil && p.Status.PodIP != ""
}

func restarted(times int32) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].RestartCount >= times
	}
}

func waits(reason string) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool {
		if len(p.Status.ContainerStatuses) == 0 {
			return false
		}
		w := p.Status.ContainerStatuses[0].State.Waiting
		return w != nil && w.Reason == reason
	}
}

// waitsInSandbox waits for the address too: a kubelet can name the reason a moment before it.
func waitsInSandbox(reason string) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool { return waits(reason)(p) && p.Status.PodIP != "" }
}

// populate makes the namespace of the pods, and what they use.
func (s *side) populate() {
	s.t.Helper()
	s.create("/api/v1/namespaces", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+s.namespace+"}\n")
	in := "/api/v1/namespaces/" + s.namespace
	s.create(in+"/serviceaccounts", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default}\n")
	s.create(in+"/configmaps", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-root-ca.crt}\ndata: {ca.crt: none}\n")
	s.create(in+"/configmaps", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {mode: fast}\n")
	s.create(in+"/secrets", "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: tr0ub4dor}\n")
}

func (s *side) pods() string { return "/api/v1/namespaces/" + s.namespace + "/pods" }

// begin waits for the node, and gives it all pods.
func (s *side) begin() {
	s.t.Helper()
	s.eventually(s.node+" ready", func() bool {
		node, ok := get[corev1.Node](s.plane, "/api/v1/nodes/"+s.node)
		return ok && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
	})
	for _, m := range specimens {
		s.create(s.pods(), fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n  nodeName: %s\n  terminationGracePeriodSeconds: 1\n%s\n", m.name, s.node, m.spec))
	}
}

// settling bounds the time until all pods of both kubelets have met their fates on a busy machine.
const settling = 5 * time.Minute

// readPods notes the status of each pod as soon as it tells what has become of the pod.
func (s *side) readPods() {
	s.t.Helper()
	left := slices.Clone(specimens)
	defer func() {
		for _, m := range left {
			s.t.Logf("the fate of pod %s of %s is not known", m.name, s.node)
		}
	}()
	s.within(settling, "the fates of all pods of "+s.node, func() bool {
		list, _ := get[corev1.PodList](s.plane, s.pods())
		left = slices.DeleteFunc(left, func(m specimen) bool {
			i := slices.IndexFunc(list.Items, func(p corev1.Pod) bool { return p.Name == m.name })
			if i < 0 || !m.settled(&list.Items[i]) {
				return false
			}
			text, err := json.Marshal(list.Items[i].Status)
			must(s.t, err)
			must(s.t, s.facts.Add("Pod "+m.name, s.plain(text)))
			return true
		})
		return len(list.Items) > 0 && len(left) == 0
	})
}

// expire gives a pod that runs a deadline that has passed, and notes its status again.
func (s *side) expire() {
	s.t.Helper()
	s.ask("PATCH", s.pods()+"/late", "application/strategic-merge-patch+json", `{"spec": {"activeDeadlineSeconds": 1}}`)
	s.within(settling, "the end of pod late of "+s.node, func() bool {
		pod, ok := get[corev1.Pod](s.plane, s.pods()+"/late")
		if !ok || !ended(&pod) {
			return false
		}
		text, err := json.Marshal(pod.Status)
		must(s.t, err)
		must(s.t, s.facts.Add("Pod late, at its deadline", s.plain(text)))
		return true
	})
}

// The parts of texts that differ from run to run.
var variable = []struct {
	of   *regexp.Regexp
	word string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`[0-9a-f]{64}`), "ID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b|\b[0-9a-f]{1,4}:[0-9a-f:]*:[0-9a-f:]*`), "ADDRESS"},
	{regexp.MustCompile(`\bused: \d+`), "used: SOME"},
	{regexp.MustCompile(`\bkube-api-access-\w{5}\b`), "kube-api-access"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(h|ms|µs|m|s))+\b`), "DURATION"},
}

// plain replaces what is different for each kubelet or each run.
func (s *side) plain(text []byte) []byte {
	words := []string{s.rt.CgroupParent, "CGROUP", s.rt.Dir, "DIR", `"` + s.node + `"`, `"NODE"`, "-" + s.node, "-NODE", "Node " + s.node, "Node NODE",
		"_" + s.namespace, "_NAMESPACE", s.namespace + "/", "NAMESPACE/", `"` + s.namespace + `"`, `"NAMESPACE"`}
	out := strings.NewReplacer(words...).Replace(string(text))
	for _, v := range variable {
		out = v.of.ReplaceAllString(out, v.word)
	}
	return []byte(out)
}

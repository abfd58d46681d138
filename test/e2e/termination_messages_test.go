package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
)

// finalMessages is a pod whose containers end in every way that leaves a message. One more keeps the
// pod from finishing.
const finalMessages = `apiVersion: v1
kind: Pod
metadata:
  name: dying
spec:
  terminationGracePeriodSeconds: 1
  restartPolicy: Never
  containers:
  - name: alive
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
  - name: file
    image: nodal.test/busybox:1
    command: [sh, -c, "echo in the log; echo -n sorry > /dev/termination-log; exit 3"]
  - name: nonroot
    image: nodal.test/busybox:1
    securityContext: {runAsUser: 1000}
    terminationMessagePath: /tmp/words
    terminationMessagePolicy: FallbackToLogsOnError
    command: [sh, -c, "echo in the log; echo -n written > /tmp/words; exit 3"]
  - name: log
    image: nodal.test/busybox:1
    terminationMessagePolicy: FallbackToLogsOnError
    command: [sh, -c, "i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); done; exit 4"]
  - name: silent
    image: nodal.test/busybox:1
    command: [sh, -c, "echo in the log; exit 5"]
  - name: fine
    image: nodal.test/busybox:1
    terminationMessagePolicy: FallbackToLogsOnError
    command: [sh, -c, "echo in the log; exit 0"]
  - name: chatty
    image: nodal.test/busybox:1
    command: [sh, -c, "seq 3000 > /dev/termination-log; exit 6"]
`

func TestTerminationMessagesReachTheStatus(t *testing.T) {
	claim.Shows(t, "Containers",
		"a termination message is read from the default and from another path, as root and as another user",
		"FallbackToLogsOnError takes the end of a failed container's log",
		"a termination message that is too long keeps its end",
		"a pod's termination messages are limited together",
		"termination messages survive a restart of the agent",
	)
	n := start(t)
	n.apply(finalMessages)
	ended := func(p *corev1.Pod) bool {
		count := 0
		for _, s := range p.Status.ContainerStatuses {
			if s.State.Terminated != nil {
				count++
			}
		}
		return count == 6
	}
	check := func(p *corev1.Pod) {
		t.Helper()
		for name, want := range map[string]string{"file": "sorry", "nonroot": "written", "silent": "", "fine": ""} {
			if got := containerStatus(p, name).State.Terminated.Message; got != want {
				t.Errorf("container %s: the message is %q, want %q", name, got, want)
			}
		}
		if got := containerStatus(p, "log").State.Terminated.Message; !strings.HasPrefix(got, "line 20\nline 21\n") || !strings.HasSuffix(got, "line 99\n") {
			t.Errorf("the end of the log is %q, want its last 80 lines", got)
		}
		// The message is 4096 bytes, and this container has its share of the pod's limit.
		if got := containerStatus(p, "chatty").State.Terminated.Message; len(got) != 12<<10/7 || !strings.HasPrefix(got, "\n2182\n2183\n") {
			t.Errorf("a long message has %d bytes: %q", len(got), got)
		}
	}
	p := n.wait("dying", "six containers ended", ended)
	check(p)
	n.Kill()
	n.up()
	check(n.wait("dying", "six containers ended, after a restart of the agent", ended))

	files, err := filepath.Glob(filepath.Join(n.Root(), "pods", string(p.UID), "containers/*/0"))
	if err != nil || len(files) != 7 {
		t.Errorf("the message files are %q, %v, want one a run", files, err)
	}
	n.curl("/v1/namespaces/default/pods/dying", "-X", "DELETE")
	n.waitGone("dying")
	if _, err := os.Stat(filepath.Join(n.Root(), "pods", string(p.UID))); !os.IsNotExist(err) {
		t.Errorf("the pod's files: %v, want them gone with it", err)
	}
}

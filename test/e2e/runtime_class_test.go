package e2e

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/claim"
)

const runtimeClass = `apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: NAME}
handler: HANDLER
overhead: {podFixed: {cpu: 100m, memory: 16Mi}}
`

func classNamed(name, handler string) string {
	return strings.NewReplacer("NAME", name, "HANDLER", handler).Replace(runtimeClass)
}

// handlerOf returns the handler by which the runtime runs a pod.
func (n *node) handlerOf(pod string) string {
	n.t.Helper()
	reply, err := n.rt.CRI().ListPodSandbox(n.t.Context(), &runtimev1.ListPodSandboxRequest{})
	if err != nil {
		n.t.Fatal(err)
	}
	i := slices.IndexFunc(reply.Items, func(s *runtimev1.PodSandbox) bool { return s.Metadata.Name == pod })
	if i < 0 {
		n.t.Fatalf("pod %s has no sandbox", pod)
	}
	return reply.Items[i].RuntimeHandler
}

func TestRuntimeClassesSayHowPodsRun(t *testing.T) {
	claim.Shows(t, "Identity and environment",
		"a pod runs with the handler of its runtime class, even if the class is posted after it, and runs on when the class is deleted",
		"a pod of a missing runtime class is refused, at its field",
		"if the runtime lacks the handler, the status gives that as the reason why the pod does not start",
	)
	claim.Shows(t, "Resources", "the overhead of a pod's runtime class is reserved for it and is part of its cgroup's limits")
	n := start(t)
	in := func(p pod, class string) string { return p.yaml() + "  runtimeClassName: " + class + "\n" }
	if got := n.curl("/v1/manifests", "--data-binary", in(web("early"), "named")); got.code != 400 || !strings.Contains(got.body, "spec.runtimeClassName") {
		t.Errorf("a class that is not there: got %s, want 400 and the field", got)
	}
	limited := strings.Replace(in(web("named"), "named"), "    image:", "    resources: {limits: {cpu: 200m, memory: 64Mi}}\n    image:", 1)
	n.apply(limited + "---\n" + classNamed("named", "runc") + "---\n" + web("plain").yaml())
	got := n.waitRunning("named")
	n.waitRunning("plain")
	if named, plain := n.handlerOf("named"), n.handlerOf("plain"); named != "runc" || plain != "" {
		t.Errorf("the pods run by %q and %q, want runc and the usual handler", named, plain)
	}
	if overhead := got.Spec.Overhead; overhead.Memory().String() != "16Mi" {
		t.Errorf("the pod's overhead is %v, want that of its class", overhead)
	}
	limit := n.cgroupFile(n.pidOf("named", "main"), 1, "memory memory.limit_in_bytes", "memory.max")
	if limit != "83886080" {
		t.Errorf("the pod's cgroup has %s bytes of memory, want 80 MiB", limit)
	}
	if got := n.curl("/v1/runtimeclasses/named", "-X", "DELETE"); got.code != 200 {
		t.Errorf("delete: got %s", got)
	}
	if got := n.curl("/v1/manifests", "--data-binary", limited); got.code != 200 || !strings.Contains(got.body, "RESULT_UNCHANGED") {
		t.Errorf("the pod without its class: got %s, want it unchanged", got)
	}

	n.apply(classNamed("absent", "no-such-handler"))
	n.apply(in(web("stuck"), "absent"))
	n.wait("stuck", "the runtime's word on the handler", func(p *corev1.Pod) bool {
		return p.Status.Reason == "FailedCreatePodSandBox" && strings.Contains(p.Status.Message, "no-such-handler")
	})
}

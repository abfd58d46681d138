package e2e

import (
	"strings"
	"testing"

	"nodal/test/agent"
	"nodal/test/claim"
)

const rootPod = "    securityContext: {privileged: true}\n  hostPID: true\n"

func TestOperatorsAreNotRootOnTheMachine(t *testing.T) {
	claim.Shows(t, "Access",
		"an operator's pod keeps to the level baseline of Kubernetes' Pod Security, and the refusal names field, rule and level",
		"an operator runs commands only in pods that an operator may post, on every path that leads there",
		"an operator posts no PersistentVolume on the machine's own files, and no CSIDriver",
	)
	n := start(t)
	post := func(role, manifest string) answer {
		return n.curlTLS(role, "/v1/manifests", "--data-binary", manifest)
	}
	greedy := web("root").yaml() + rootPod
	refused := post("operator", greedy)
	for _, want := range []string{"securityContext.privileged", `level \"baseline\" of pods from \"operator\"`, "hostPID=true"} {
		if refused.code != 400 || !strings.Contains(refused.body, want) {
			t.Errorf("an operator's privileged pod: %s, want 400 with %s", refused, want)
		}
	}
	if got := post("operator", web("plain").yaml()); got.code != 200 {
		t.Errorf("an operator's plain pod: %s, want 200", got)
	}
	if got := post("admin", greedy); got.code != 200 {
		t.Fatalf("an admin's privileged pod: %s, want 200", got)
	}
	n.waitRunning("root")
	n.waitRunning("plain")
	for _, c := range []struct {
		path string
		args []string
	}{
		{"/v1/namespaces/default/pods/POD/containers/main:run", []string{"-d", `{"command": ["/probe", "exit", "0"]}`}},
		{"/run/default/POD/main", []string{"-d", "cmd=/probe exit 0"}},
	} {
		for role, wants := range map[string]map[string]int{
			"operator": {"plain": 200, "root": 403}, "admin": {"plain": 200, "root": 200},
		} {
			for pod, want := range wants {
				if got := n.curlTLS(role, strings.Replace(c.path, "POD", pod, 1), c.args...); got.code != want {
					t.Errorf("%s as %s in pod %s: %s, want %d", c.path, role, pod, got, want)
				}
			}
		}
	}
	for _, path := range []string{"/exec/default/root/main?command=/probe&output=1", "/attach/default/root/main?output=1"} {
		if got := n.curlTLS("operator", path); got.code != 403 {
			t.Errorf("%s as operator: %s, want 403", path, got)
		}
	}
	volume := "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: host}\nspec:\n  capacity: {storage: 1Gi}\n" +
		"  accessModes: [ReadWriteOnce]\n  hostPath: {path: /}\n"
	if got := post("operator", volume); got.code != 400 || !strings.Contains(got.body, "spec.hostPath") {
		t.Errorf("an operator's volume on the machine's files: %s, want 400 that names spec.hostPath", got)
	}
	driver := "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: disk.example.com}\nspec: {volumeLifecycleModes: [Ephemeral]}\n"
	if got := post("operator", driver); got.code != 400 || !strings.Contains(got.body, "for every pod") {
		t.Errorf("an operator's CSIDriver: %s, want 400 that says what it gives", got)
	}
	if got := post("admin", driver); got.code != 200 {
		t.Errorf("an admin's CSIDriver: %s, want 200", got)
	}
}

func TestOwnerSetsThePolicyOfTheNode(t *testing.T) {
	claim.Shows(t, "Access",
		"--pod-security loosens what operators may post, and holds a namespace to a level",
		"--host-pid-sources holds for admins too",
	)
	n := prepare(t, func(c *agent.Config) {
		c.Flags = append(c.Flags, "--pod-security=operator=privileged,namespace/prod=restricted", "--host-pid-sources=file")
	})
	n.up()
	host := web("host").yaml() + "  hostPID: true\n"
	network := web("network").yaml() + "  hostNetwork: true\n"
	for _, c := range []struct {
		name, role, manifest string
		code                 int
		says                 string
	}{
		{"the machine's network from a loosened operator", "operator", network, 200, ""},
		{"the machine's processes from an admin", "admin", host, 400, "--host-pid-sources"},
		{"a pod that is not hardened in a restricted namespace", "admin",
			strings.Replace(web("soft").yaml(), "metadata:\n", "metadata:\n  namespace: prod\n", 1), 400, `namespace \"prod\"`},
	} {
		if got := n.curlTLS(c.role, "/v1/manifests", "--data-binary", c.manifest); got.code != c.code || !strings.Contains(got.body, c.says) {
			t.Errorf("%s: %s, want %d with %q", c.name, got, c.code, c.says)
		}
	}
}

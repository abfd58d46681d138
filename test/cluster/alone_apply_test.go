package cluster

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"nodal/test/claim"
	"nodal/test/daemon"
)

func TestKubectlAppliesOnTheServersSide(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "Kubernetes API",
		"kubectl apply --server-side creates objects and pods of a node, changes them, and takes away fields that it does not list any more",
		"a field that another manager has set is a conflict in Kubernetes' words, which --force-conflicts resolves",
		"kubectl diff --server-side shows what an apply would change, and changes nothing",
		"an object that kubectl has applied by itself is taken over by kubectl apply --server-side",
		"the managers of fields outlast a kill of the agent, and kubectl shows them if it is asked to",
		"client-go applies configurations, and extracts the fields of one manager",
	)
	a := startAlone(t)
	grey := strings.Replace(colors, "red", "grey", 1)
	a.does(colors, "apply --server-side -f -", "configmap/settings serverside-applied")
	a.does("", "get cm settings -o yaml --show-managed-fields", "manager: kubectl", "operation: Apply", "f:color: {}")
	if out := a.does("", "get cm settings -o yaml", "color: red"); strings.Contains(out, "managedFields") {
		t.Errorf("the managed fields are shown: %s", out)
	}
	version := a.does("", "get cm settings -o jsonpath={.metadata.resourceVersion}")
	a.does(colors, "apply --server-side -f -", "serverside-applied")
	a.does("", "get cm settings -o jsonpath={.metadata.resourceVersion}", version)
	a.does(colors, "diff --server-side -f -")
	a.fails(grey, "diff --server-side -f -", "+  color: grey")
	a.fails(grey, "apply --server-side --field-manager=other -f -", `conflict with "kubectl": .data.color`)
	a.does("", "get cm settings -o jsonpath={.data.color}", "red")
	a.node.Kill()
	a.node.Launch()
	a.node.Await("the agent again", func(daemon.Pods) bool { return true }) // kubectl does not wait for it
	a.fails(grey, "apply --server-side --field-manager=other -f -", `conflict with "kubectl": .data.color`)
	a.does(grey, "apply --server-side --field-manager=other --force-conflicts -f -", "serverside-applied")
	a.does("", "get cm settings -o jsonpath={.data.color}", "grey")
	a.does("", "label cm settings tier=front", "labeled")
	a.does("", "get cm settings -o yaml --show-managed-fields", "manager: other", "manager: kubectl-label", "operation: Update")
	a.does(strings.Replace(grey, "color: grey", "size: xl", 1), "apply --server-side --field-manager=other -f -", "serverside-applied")
	a.does("", "get cm settings -o jsonpath={.data}/{.metadata.labels.tier}", `{"size":"xl"}/front`)

	mine := strings.Replace(colors, "settings", "mine", 1)
	a.does(mine, "apply -f -", "created")
	a.does(strings.Replace(mine, "color: red", "size: xl", 1), "apply --server-side -f -", "serverside-applied")
	a.does("", "get cm mine -o jsonpath={.data}", `{"size":"xl"}`)

	web := manifest("web", server)
	a.does(web, "apply --server-side -f -", "pod/web serverside-applied")
	a.does("", "wait --for=condition=Ready pod/web --timeout=120s", "condition met")
	uid := a.does("", "get pod web -o jsonpath={.metadata.uid}")
	a.does("", "label pod web color=red", "labeled")
	a.does(web, "apply --server-side -f -", "serverside-applied")
	a.does("", "get pod web -o jsonpath={.metadata.uid}/{.metadata.labels.color}", uid+"/red")
	a.fails(strings.Replace(web, "labels: {", "labels: {color: blue, ", 1), "apply --server-side -f -", `conflict with "kubectl-label" using v1: .metadata.labels.color`)
	a.fails(strings.Replace(web, "containers:", "containres:", 1), "apply --server-side -f -", ".spec.containres: field not declared in schema")
	a.does("", "delete pod web --grace-period=1", "deleted")
	a.appliesByClientGo()
}

// appliesByClientGo applies as controllers do.
func (a *alone) appliesByClientGo() {
	a.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", a.config)
	must(a.t, err)
	client, err := corev1.NewForConfig(config)
	must(a.t, err)
	const manager = "controller"
	maps := client.ConfigMaps("default")
	wanted := applycore.ConfigMap("counts", "default").WithLabels(map[string]string{"a": "b"}).WithData(map[string]string{"n": "1"})
	_, err = maps.Apply(a.t.Context(), wanted, metav1.ApplyOptions{FieldManager: manager})
	must(a.t, err)
	a.does("", "patch cm counts --type merge -p {\"data\":{\"m\":\"2\"}}", "patched")
	live, err := maps.Get(a.t.Context(), "counts", metav1.GetOptions{})
	must(a.t, err)
	own, err := applycore.ExtractConfigMap(live, manager)
	must(a.t, err)
	if len(own.Data) != 1 || own.Data["n"] != "1" || own.Labels["a"] != "b" || len(live.Data) != 2 {
		a.t.Errorf("of %v and %v, %s has set %v and %v", live.Data, live.Labels, manager, own.Data, own.Labels)
	}
	_, err = maps.Apply(a.t.Context(), own.WithData(map[string]string{"m": "3"}), metav1.ApplyOptions{FieldManager: manager})
	if err == nil || !strings.Contains(err.Error(), `conflict with "kubectl-patch" using v1: .data.m`) {
		a.t.Errorf("a conflict is answered with %v", err)
	}
	applied, err := maps.Apply(a.t.Context(), own, metav1.ApplyOptions{FieldManager: manager, Force: true})
	must(a.t, err)
	if applied.Data["m"] != "3" {
		a.t.Errorf("after the apply by force the data is %v", applied.Data)
	}
}

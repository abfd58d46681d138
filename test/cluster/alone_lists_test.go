package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/pager"

	"nodal/test/claim"
	"nodal/test/pace"
)

func (a *alone) client() dynamic.Interface {
	a.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", a.config)
	must(a.t, err)
	client, err := dynamic.NewForConfig(config)
	must(a.t, err)
	return client
}

func TestListsOfANodeAlone(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "Kubernetes API",
		"lists of a node come in pages of the size that kubectl and client-go ask for",
		"client-go deletes a collection of objects by label on a node without a cluster",
	)
	a := startAlone(t)
	for i := range 5 {
		a.does(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m%d, labels: {even: '%v'}}\n", i, i%2 == 0), "apply -f -", "created")
	}
	a.does("", "get cm --chunk-size=1", "m0", "m4")
	a.does("", "get --raw /api/v1/namespaces/default/configmaps?limit=2", `"remainingItemCount":3`, `"continue":`)
	a.fails("", "get --raw /api/v1/namespaces/default/configmaps?continue=nonsense", "continue key is not valid")

	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(patience))
	defer cancel()
	maps := a.client().Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default")
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return maps.List(ctx, o) })
	pages.PageSize = 2
	var names []string
	must(t, pages.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		names = append(names, o.(metav1.Object).GetName())
		return nil
	}))
	if got := strings.Join(names, " "); got != "m0 m1 m2 m3 m4" {
		t.Errorf("the pages hold %s", got)
	}
	must(t, maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "even=true"}))
	a.does("", "get cm -o name", "m1", "m3")
	a.fails("", "get cm m2", "not found")
	a.does("", "delete cm -l even=false", "m1", "m3")
}

func TestKubectlTopOnANodeAlone(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "Kubernetes API", "kubectl top shows what the node, its pods and their containers use")
	a := startAlone(t)
	a.does(manifest("web", server), "apply -f -", "pod/web created")
	a.does("", "wait --for=condition=Ready pod/web --timeout=120s", "condition met")
	a.does("", "top node", "NAME", "node-a", "Mi", "%")
	a.does("", "top pod", "web", "m ", "Mi")
	a.does("", "top pod web --containers", "main")
	a.does("", "top pod -A --sort-by=memory", "default", "web")
	a.does("", "get --raw /apis/metrics.k8s.io/v1beta1/namespaces/default/pods/web", `"window":"`, `"name":"main"`)
	a.does("", "delete pod web --grace-period=1", "deleted")
	a.fails("", "top pod web", "not found")
}

package cluster

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"nodal/test/claim"
	"nodal/test/pace"
)

func TestInformersFollowNamespacesAndTheNodeAlone(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "Kubernetes API", "informers of client-go follow namespaces, events of both groups and the node, without a cluster")
	a := startAlone(t)
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(4*patience))
	defer cancel()
	heard := make(chan string, 256)
	tell := func(word string) func(any) {
		return func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			if u, ok := o.(*unstructured.Unstructured); ok {
				name := u.GetName()
				if reason, ok := u.Object["reason"].(string); ok {
					name = u.GroupVersionKind().Group + "/" + reason
				}
				select {
				case heard <- word + " " + u.GetKind() + " " + name:
				case <-ctx.Done():
				}
			}
		}
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(a.client(), 0)
	for _, of := range []schema.GroupVersionResource{
		corev1.SchemeGroupVersion.WithResource("namespaces"), corev1.SchemeGroupVersion.WithResource("nodes"),
		corev1.SchemeGroupVersion.WithResource("events"), {Group: "events.k8s.io", Version: "v1", Resource: "events"},
	} {
		_, err := factory.ForResource(of).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: tell("+"), UpdateFunc: func(_, now any) { tell("=")(now) }, DeleteFunc: tell("-"),
		})
		must(t, err)
	}
	factory.Start(ctx.Done())
	for of, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			t.Fatalf("the informer of %s did not sync", of.Resource)
		}
	}
	seen := map[string]bool{}
	await := func(what string) {
		t.Helper()
		for !seen[what] {
			select {
			case one := <-heard:
				seen[one] = true
			case <-ctx.Done():
				t.Fatalf("the informers did not tell of %q, but of %v", what, seen)
			}
		}
	}
	await("+ Namespace default")
	await("+ Node node-a")
	a.does(strings.Replace(colors, "name: settings,", "name: settings, namespace: staging,", 1), "apply -f -", "created")
	await("+ Namespace staging")
	a.does("", "delete cm settings -n staging", "deleted")
	await("- Namespace staging")
	a.does(manifest("web", server), "apply -f -", "created")
	await("+ Event /Started")
	await("+ Event events.k8s.io/Started")
	a.does("", "delete pod web --grace-period=1", "deleted")
}

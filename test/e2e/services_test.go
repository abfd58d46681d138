package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/claim"
	"nodal/test/daemon"
	"nodal/test/pace"
)

// TestAServiceLeadsToReadyPods has a pod read a page of a service, through the variables that tell it where the service is.
func TestAServiceLeadsToReadyPods(t *testing.T) {
	claim.Shows(t, "Kubernetes API",
		"on the node's own runtime, a Service leads to its ready pods by its address and by its port of the node, and pods find it by variables",
		"while the agent is dead, a Service leads on; the next agent follows changes of its pods")
	t.Parallel()
	d := daemon.StartAlone(t)
	d.Import("busybox")
	page := func(name, app string) string {
		p := shell(name, "echo hello >/index.html; exec httpd -f -p 8080 -h /")
		p.labels = map[string]string{"app": app}
		return p.yaml() + "    readinessProbe: {httpGet: {port: 8080, path: /index.html}, periodSeconds: 1}\n"
	}
	d.Apply("apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: default}\nspec: {type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}\n")
	web := serviceNamed(t, d, "web")
	d.Apply(page("one", "web"))
	visitor := shell("visitor", "exec sleep 1000")
	d.Apply(visitor.yaml() + "    readinessProbe: {exec: {command: [sh, -c, 'timeout 2 wget -q -O /dev/null http://$WEB_SERVICE_HOST:$WEB_SERVICE_PORT/index.html']}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 5}\n")
	pods := d.Await("a pod reads a page of the service", func(p daemon.Pods) bool { return p.Ready("visitor") && p.Ready("one") })
	byAddress := fmt.Sprintf("http://%s/index.html", web.Spec.ClusterIP)
	wantPage(t, byAddress)
	one := new(corev1.Pod)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(pods["one"].GetObject().AsMap(), one); err != nil {
		t.Fatal(err)
	}
	wantPage(t, fmt.Sprintf("http://%s:%d/index.html", one.Status.HostIP, web.Spec.Ports[0].NodePort))

	d.Kill()
	wantPage(t, byAddress)
	d.Launch()
	d.Apply(page("one", "other"))
	d.Await("a service without pods leads nowhere", func(p daemon.Pods) bool { return !p.Ready("visitor") && p.Ready("one") })
	d.Apply(page("two", "web"))
	d.Await("the next agent leads to a new pod", func(p daemon.Pods) bool { return p.Ready("visitor") && p.Ready("two") })
	wantPage(t, byAddress)
}

func serviceNamed(t *testing.T, d *daemon.Daemon, name string) (service corev1.Service) {
	t.Helper()
	got, err := nodev1.NewObjectsServiceClient(d.Conn()).GetObject(t.Context(), &nodev1.GetObjectRequest{Kind: "services", Namespace: "default", Name: name})
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(got.GetObject().GetObject().AsMap(), &service)
	}
	if err != nil || service.Spec.ClusterIP == "" || len(service.Spec.Ports) != 1 || service.Spec.Ports[0].NodePort == 0 {
		t.Fatalf("got %+v, %v, want an address and a port", service.Spec, err)
	}
	return service
}

// wantPage reads a page from this machine, which is the node.
func wantPage(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(10*time.Second))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "hello\n" {
		t.Errorf("%s: got %q, %v", url, text, err)
	}
}

package cluster

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"nodal/test/claim"
	"nodal/test/daemon"
	"nodal/test/pace"
	"nodal/test/rig"
)

// kubectlBinary returns the kubectl that is built with the parts of a cluster, in the version of its control plane.
func kubectlBinary() string {
	return filepath.Join("../../.cache/parts", os.Getenv(PlaneEnv), "kubectl")
}

// alone is a node without a cluster, and kubectl.
type alone struct {
	t      *testing.T
	node   *daemon.Daemon
	config string // a kubeconfig of its admin
	dir    string
}

func startAlone(t *testing.T, flags ...string) *alone {
	t.Helper()
	a := &alone{t: t, node: daemon.Start(t, rig.Containerd(t), flags...), dir: t.TempDir()}
	return a.as("admin")
}

// as returns kubectl with the credential of a role.
func (a *alone) as(role string) *alone {
	a.t.Helper()
	other := *a
	other.config = filepath.Join(a.dir, "kubeconfig-"+role)
	text, err := a.node.Run("kubeconfig", "--root-dir", a.node.Dir, "--role", role, "--server", fmt.Sprintf("https://127.0.0.1:%d", a.node.Port))
	must(a.t, err)
	must(a.t, os.WriteFile(other.config, text, 0o600))
	return &other
}

func (a *alone) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, kubectlBinary(), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+a.config, "HOME="+a.dir, "KUBE_EDITOR=sed -i s/xl/xs/")
	return cmd
}

// try runs kubectl, and returns what it prints.
func (a *alone) try(stdin string, args ...string) (string, error) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), pace.Of(2*patience))
	defer cancel()
	cmd := a.command(ctx, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err := cmd.Run()
	a.t.Logf("kubectl %s: %s", strings.Join(args, " "), time.Since(began).Round(time.Millisecond))
	return out.String(), err
}

// does runs kubectl, which has to succeed and print each of the texts.
func (a *alone) does(stdin, command string, want ...string) string {
	a.t.Helper()
	out, err := a.try(stdin, strings.Fields(command)...)
	if err != nil {
		a.t.Errorf("kubectl %s: %v\n%s", command, err, out)
	}
	for _, text := range want {
		if !strings.Contains(out, text) {
			a.t.Errorf("kubectl %s: got\n%s\nwant %q in it", command, out, text)
		}
	}
	return out
}

// fails runs kubectl, which has to fail with the text.
func (a *alone) fails(stdin, command, want string) {
	a.t.Helper()
	if out, err := a.try(stdin, strings.Fields(command)...); err == nil || !strings.Contains(out, want) {
		a.t.Errorf("kubectl %s: %v, got\n%s\nwant a failure with %q", command, err, out, want)
	}
}

const colors = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {color: red}
`

// server serves a page, and repeats what it reads.
const server = `  containers:
  - name: main
    image: nodal.test/busybox:1
    stdin: true
    command: [sh, -c, "mkdir /www; printf fast > /www/index.html; httpd -p 8080 -h /www; echo serving; exec cat"]
`

func TestKubectlWorksOnANodeAlone(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "Kubernetes API",
		"kubectl gets, describes, explains and watches the pods and objects of a node without a cluster, with its columns and selectors",
		"kubectl creates, applies, edits by its three kinds of patches, labels, replaces and deletes pods and objects of a node",
		"kubectl logs, exec, cp, attach and port-forward reach containers of a node",
		"kubectl get --raw reaches a server in a pod of a node through the pod's proxy; a viewer's does not",
		"kubectl run and wait work on a node",
		"an informer of client-go follows the pods of a node without a cluster",
		"kubectl says what the node refuses: names that exist, fields that are wrong, kinds that are not there, conflicts",
	)
	a := startAlone(t)
	a.does("", "version", "Server Version: v1.")
	a.does("", "api-resources", "pods", "po", "configmaps", "networkpolicies", "networking.k8s.io/v1")
	a.does("", "api-versions", "v1", "scheduling.k8s.io/v1")
	a.does("", "get nodes -o wide", "node-a", "Ready", "containerd://")
	a.does("", "get namespaces", "default", "Active")
	a.does("", "explain pod.spec.containers.image", "FIELD: image", "Container image name")
	a.fails("", "get ingresses", `the server doesn't have a resource type "ingresses"`)

	a.does(colors, "create -f -", "configmap/settings created")
	a.fails(colors, "create -f -", `configmaps "settings" already exists`)
	a.does(strings.Replace(colors, "red", "blue", 1), "apply -f -", "configmap/settings configured")
	a.does("", "get cm settings -o jsonpath={.data.color}", "blue")
	a.does("", `patch cm settings --type merge -p {"data":{"size":"xl"}}`, "patched")
	a.does("", `patch cm settings --type json -p [{"op":"replace","path":"/data/color","value":"green"}]`, "patched")
	a.does("", "get cm -l app=web -o yaml", "color: green", "size: xl")
	a.does("", "label cm settings tier=front", "labeled")
	a.does("", "annotate cm settings note=1", "annotated")
	a.does("", "edit cm settings", "edited")
	a.does("", "get cm settings -o jsonpath={.data.size}", "xs")
	a.does(strings.Replace(colors, "{app: web}", "{app: web, tier: front}", 1), "replace -f -", "replaced")
	a.does("", "get cm settings -o jsonpath={.data}", `{"color":"red"}`)
	a.does("", "get cm --show-labels", "app=web,tier=front", "DATA")
	a.does(strings.Replace(colors, "red", "grey", 1), "apply --dry-run=server -f -", "server dry run")
	a.does("", "get cm settings -o jsonpath={.data.color}", "red")
	a.does("", "create secret generic door --from-literal=key=opensesame", "secret/door created")
	a.does("", "get secret door -o jsonpath={.data.key}", "b3BlbnNlc2FtZQ==")

	web := manifest("web", server)
	a.does(web, "apply -f -", "pod/web created")
	a.does("", "wait --for=condition=Ready pod/web --timeout=120s", "condition met")
	a.does(web, "apply -f -", "pod/web unchanged")
	a.does("", "get pods", "NAME", "READY", "1/1", "Running")
	a.does("", "get po web -o wide", "node-a")
	a.does("", "get pods -A --field-selector status.phase=Running -o name", "pod/web")
	a.does("", "describe pod web", "Name:", "Started", "Events:")
	a.does("", "get events --field-selector involvedObject.name=web", "Started", "pod/web")
	a.does("", "label pod web color=red", "labeled")
	a.does("", "get pod web -L color", "red")
	a.does("", "exec web -- echo from-inside", "from-inside")
	a.does("some text", "exec -i web -- cat", "some text")
	a.does("", "cp default/web:/etc/hosts "+filepath.Join(a.dir, "hosts"))
	if text, err := os.ReadFile(filepath.Join(a.dir, "hosts")); err != nil || !strings.Contains(string(text), "web") {
		t.Errorf("the copied /etc/hosts is %q, %v", text, err)
	}
	a.does("", "logs web", "serving")
	a.fails(web, "create -f -", `pods "web" already exists`)
	a.fails(strings.Replace(web, "containers:", "containres:", 1), "apply -f -", "containres")
	a.fails("", "get pod none", `pods "none" not found`)
	a.follows()
	a.does("", "get events.events.k8s.io --field-selector regarding.name=web", "Started", "pod/web")
	a.informs()
	attached(t, a.command, "web")
	forwarded(t, a.command, "web")
	a.asks()

	a.does("", "run once --image=nodal.test/busybox:1 --restart=Never --command -- echo it-has-run", "pod/once created")
	a.does("", "wait --for=jsonpath={.status.phase}=Succeeded pod/once --timeout=120s", "condition met")
	a.does("", "logs once", "it-has-run")
	a.does("", "get pod once", "Completed")
	a.does("", "delete pod once web --grace-period=1", `pod "web" deleted`)
	a.fails("", "get pod web", "not found")
	a.does("", "delete cm,secret --all", `configmap "settings" deleted`, `secret "door" deleted`)
}

// asks reaches a server in a pod through the node's API.
func (a *alone) asks() {
	a.t.Helper()
	const web = "get --raw /api/v1/namespaces/default/pods/"
	a.does("", web+"web:8080/proxy/", "fast")
	a.does("", web+"http:web:8080/proxy/index.html", "fast")
	a.fails("", web+"web:8080/proxy/none", "the server could not find the requested resource")
	a.fails("", web+"web:81/proxy/", "refused")
	a.fails("", web+"web/proxy/", "pod web declares no port")
	a.fails("", web+"none:8080/proxy/", `pods "none" not found`)
	a.as("viewer").fails("", web+"web:8080/proxy/", "Forbidden")
}

// follows checks a watch by kubectl.
func (a *alone) follows() {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), pace.Of(patience))
	defer cancel()
	watch := a.command(ctx, "get", "pods", "-w", "-o", "name")
	out, err := watch.StdoutPipe()
	must(a.t, err)
	must(a.t, watch.Start())
	defer watch.Wait() // it ends by the context
	defer cancel()
	lines := bufio.NewReader(out)
	for _, when := range []string{"at first", "after a change of the pod"} {
		if line, err := lines.ReadString('\n'); err != nil || line != "pod/web\n" {
			a.t.Errorf("%s the watch shows %q, %v", when, line, err)
		}
		a.does("", "annotate --overwrite pod web noted="+when[:2], "annotated")
	}
}

// informs checks that an informer of client-go follows pods of the node.
func (a *alone) informs() {
	a.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", a.config)
	must(a.t, err)
	client, err := dynamic.NewForConfig(config)
	must(a.t, err)
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	informer := dynamicinformer.NewFilteredDynamicInformer(client, pods, "default", 0, cache.Indexers{}, nil).Informer()
	seen := make(chan string, 16)
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, now any) {
		seen <- now.(*unstructured.Unstructured).GetAnnotations()["informed"]
	}})
	must(a.t, err)
	ctx, cancel := context.WithTimeout(a.t.Context(), pace.Of(patience))
	defer cancel()
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		a.t.Error("the informer did not get the pods")
		return
	}
	a.does("", "annotate pod web informed=yes", "annotated")
	for {
		select {
		case what := <-seen:
			if what == "yes" {
				return
			}
		case <-ctx.Done():
			a.t.Error("the informer did not hear of a change")
			return
		}
	}
}

func TestConflictsOnANodeAloneAreKubernetes(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "Kubernetes API", "a resourceVersion that is not the present one is a conflict, as Kubernetes' Status")
	a := startAlone(t)
	a.does(colors, "create -f -", "created")
	stale := a.does("", "get cm settings -o json", "resourceVersion")
	a.does("", "label cm settings seen=1", "labeled")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://node/api/v1/namespaces/default/configmaps/settings", strings.NewReader(stale))
	must(t, err)
	answer, err := a.node.HTTP().Do(request)
	must(t, err)
	defer answer.Body.Close()
	var body bytes.Buffer
	_, err = body.ReadFrom(answer.Body)
	must(t, err)
	if answer.StatusCode != http.StatusConflict || !strings.Contains(body.String(), `"kind":"Status"`) || !strings.Contains(body.String(), `"reason":"Conflict"`) {
		t.Errorf("got %d %s", answer.StatusCode, body.String())
	}
}

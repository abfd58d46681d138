package manifest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/manifest"
	"nodal/node/manifest/rules"
)

func TestChangeSaysHowARunningPodTakesIt(t *testing.T) {
	const before = web + "  initContainers:\n  - {name: first, image: 'i:1'}\n  tolerations: [{key: a, operator: Exists}]\n"
	replace := func(old, new string) string {
		if !strings.Contains(before, old) {
			t.Fatalf("no %q to replace", old)
		}
		return strings.Replace(before, old, new, 1)
	}
	tests := map[string]struct {
		after  string
		kind   manifest.Kind
		fields []string
		images []string
	}{
		"the same again":              {before, manifest.Same, nil, nil},
		"a default that is spelt out": {before + "  restartPolicy: Always\n", manifest.Same, nil, nil},
		"an equal quantity":           {before + "  overhead: {}\n", manifest.Same, nil, nil},
		"another UID and status":      {replace("  name: web\n", "  name: web\n  uid: other\nstatus: {phase: Failed}\n"), manifest.Same, nil, nil},
		"another image":               {replace("app:1.0", "app:1.1"), manifest.InPlace, []string{"spec.containers[0].image"}, []string{"app"}},
		"another init image":          {replace("i:1", "i:2"), manifest.InPlace, []string{"spec.initContainers[0].image"}, []string{"first"}},
		"a label":                     {replace("  name: web\n", "  name: web\n  labels: {example.com/a: b}\n"), manifest.InPlace, []string{"metadata.labels[example.com/a]"}, nil},
		"the grace period":            {before + "  terminationGracePeriodSeconds: 5\n", manifest.InPlace, []string{"spec.terminationGracePeriodSeconds"}, nil},
		"a deadline":                  {before + "  activeDeadlineSeconds: 5\n", manifest.InPlace, []string{"spec.activeDeadlineSeconds"}, nil},
		"one more toleration":         {replace("[{key: a, ", "[{key: b, operator: Exists}, {key: a, "), manifest.InPlace, []string{"spec.tolerations"}, nil},
		"another toleration":          {replace("{key: a, ", "{key: b, "), manifest.Replace, []string{"spec.tolerations"}, nil},
		"a command":                   {replace("    image: example", "    command: [sh]\n    image: example"), manifest.Replace, []string{"spec.containers[0].command"}, nil},
		"a pull policy that follows":  {replace("app:1.0", "app"), manifest.InPlace, []string{"spec.containers[0].image", "spec.containers[0].imagePullPolicy"}, []string{"app"}},
		"one more container":          {replace("  containers:\n", "  containers:\n  - {name: more, image: 'm:1'}\n"), manifest.Replace, []string{"spec.containers"}, nil},
		"another container's name":    {replace("name: app", "name: app2"), manifest.Replace, []string{"spec.containers[0].name"}, nil},
		"a volume and a label":        {replace("  name: web\n", "  name: web\n  labels: {a: b}\n") + "  volumes: [{name: v}]\n", manifest.Replace, []string{"metadata.labels[a]", "spec.volumes"}, nil},
		"an ephemeral container":      {before + "  ephemeralContainers: [{name: debug, image: 'd:1'}]\n", manifest.InPlace, []string{"spec.ephemeralContainers"}, nil},
		"a limit":                     {replace("    image: example", "    resources: {limits: {cpu: 1}}\n    image: example"), manifest.Replace, []string{"spec.containers[0].resources.limits[cpu]", "spec.containers[0].resources.requests[cpu]"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := manifest.Change(decodeOne(t, before), decodeOne(t, test.after))
			if got.Kind != test.kind || !slices.Equal(got.Fields, test.fields) || !slices.Equal(got.Images, test.images) {
				t.Errorf("got %v %q images %q, want %v %q images %q", got.Kind, got.Fields, got.Images, test.kind, test.fields, test.images)
			}
		})
	}
}

func TestEphemeralContainersStayAsTheyWereAdded(t *testing.T) {
	with := func(list string) *corev1.Pod { return decodeOne(t, web+"  ephemeralContainers: ["+list+"]\n") }
	old := with("{name: one, image: 'd:1'}")
	if got := manifest.Change(old, decodeOne(t, web)); got.Kind != manifest.Same {
		t.Errorf("a manifest that says nothing of them: got %v %q, want same", got.Kind, got.Fields)
	}
	for list, want := range map[string]string{
		"":                          "",
		"{name: one, image: 'd:1'}": "",
		"{name: two, image: 'd:1'}, {name: one, image: 'd:1'}": "",
		"{name: one, image: 'd:2'}":                            "may not be changed",
		"{name: two, image: 'd:1'}":                            "may not be removed",
	} {
		got := manifest.CheckAdded(old, with(list))
		if (want == "") != (len(got) == 0) || len(got) > 0 && (got[0].Field != "spec.ephemeralContainers" || !strings.Contains(got[0].Rule, want)) {
			t.Errorf("%q: got %v, want %q", list, got, want)
		}
	}
}

func TestChangeForgivesDefaultsAnEarlierVersionDidNotKnow(t *testing.T) {
	pod := decodeOne(t, web)
	journalled := pod.DeepCopy()
	journalled.Spec.EnableServiceLinks = nil
	journalled.Spec.Containers[0].TerminationMessagePath = ""
	if got := manifest.Change(journalled, pod); got.Kind != manifest.Same {
		t.Errorf("got %v %q, want same", got.Kind, got.Fields)
	}
	if journalled.Spec.EnableServiceLinks != nil {
		t.Error("Change wrote into the pod it was given")
	}
}

func TestKubeletsHash(t *testing.T) {
	// The values are those of upstream's kubelet 1.36.3.
	for _, test := range []struct{ name, image, want string }{
		{"app", "app:1", "5f7faf92"},
		{"main", "registry.k8s.io/pause:3.10", "b03ee60b"},
		{"x<&>", "a@sha256:b", "451b0723"},
	} {
		c := &corev1.Container{Name: test.name, Image: test.image}
		if got := manifest.KubeletHash(c); got != test.want {
			t.Errorf("%s of %s: got %s, want %s", test.name, test.image, got, test.want)
		}
		for hash, want := range map[string]bool{test.want: true, manifest.ContainerHash(c): true, "0": false, "v1-0": false} {
			if got := manifest.IsHashOf(hash, c); got != want {
				t.Errorf("%s: it is the hash of %s: %t, want %t", hash, test.name, got, want)
			}
		}
	}
}

func TestPodsThatUpstreamMayTakeOverHaveItsHash(t *testing.T) {
	c, posted, brought := corev1.Container{Name: "app", Image: "app:1"}, &corev1.Pod{}, &corev1.Pod{}
	brought.Annotations = map[string]string{node.AnnotationFrom: node.Cluster}
	for _, test := range []struct {
		name   string
		source node.Source
		object *corev1.Pod
		want   string
	}{
		{"posted to the node", node.SourceAPI, posted, manifest.ContainerHash(&c)},
		{"of a cluster", node.SourceAPI, brought, "5f7faf92"},
		{"of a file", node.SourceFile, posted, "5f7faf92"},
		{"of a URL", node.SourceURL, posted, "5f7faf92"},
	} {
		if got := manifest.HashIn(&node.Pod{Source: test.source, Object: test.object}, &c); got != test.want {
			t.Errorf("a pod %s: got %s, want %s", test.name, got, test.want)
		}
	}
}

func TestHashesKeepTheirVersionAndTheirValue(t *testing.T) {
	c := &corev1.Container{Name: "app", Image: "example.com/app:1"}
	// A changed value here restarts every container of every node that upgrades.
	if got, want := manifest.ContainerHash(c), "v1-641752e25c6f011c04acff84c473fe77"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	other := c.DeepCopy()
	other.Command = []string{"sh"}
	if manifest.ContainerHash(other) != manifest.ContainerHash(c) {
		t.Error("a command changed the hash of a container's name and image")
	}
	other.Image = "example.com/app:2"
	if manifest.ContainerHash(other) == manifest.ContainerHash(c) {
		t.Error("another image has the same hash")
	}
	pod := decodeOne(t, web)
	again := pod.DeepCopy()
	again.UID, again.Status.Phase = "u", corev1.PodRunning
	if manifest.PodHash(pod) != manifest.PodHash(again) {
		t.Error("a UID and a status changed the pod's hash")
	}
	again.Labels = map[string]string{"a": "b"}
	if manifest.PodHash(pod) == manifest.PodHash(again) {
		t.Error("a label did not change the pod's hash")
	}
}

func TestStaticFollowsTheStaticPodRules(t *testing.T) {
	seen := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	static := func(bundle, nodeName, origin string) *corev1.Pod {
		pod := decodeOne(t, bundle)
		manifest.Static(manifest.Doc{Pod: pod}, manifest.Place{Node: nodeName, Source: manifest.FromFile, Origin: origin}, seen)
		return pod
	}
	pod := static(web, "Node-A", "/etc/pods/web.yaml")
	if pod.Name != "web-node-a" || pod.Namespace != "default" || pod.Spec.NodeName != "node-a" {
		t.Errorf("got %s/%s on %s, want default/web-node-a on node-a", pod.Namespace, pod.Name, pod.Spec.NodeName)
	}
	if len(pod.UID) != 32 || strings.Trim(string(pod.UID), "0123456789abcdef") != "" {
		t.Errorf("got UID %q, want 32 hexadecimal digits", pod.UID)
	}
	want := map[string]string{
		"kubernetes.io/config.hash": string(pod.UID), "kubernetes.io/config.source": "file",
		"kubernetes.io/config.seen": "2026-01-02T03:04:05.000000006Z",
	}
	for key, value := range want {
		if pod.Annotations[key] != value {
			t.Errorf("got annotation %s %q, want %q", key, pod.Annotations[key], value)
		}
	}
	if len(pod.Spec.Tolerations) != 1 || pod.Spec.Tolerations[0] != (corev1.Toleration{Operator: "Exists", Effect: "NoExecute"}) {
		t.Errorf("got tolerations %v, want the one that keeps static pods", pod.Spec.Tolerations)
	}
	if errs := rules.Pod(pod); len(errs) > 0 {
		t.Errorf("the static pod is not valid: %v", errs)
	}
	for name, other := range map[string]*corev1.Pod{
		"another node":  static(web, "node-b", "/etc/pods/web.yaml"),
		"another file":  static(web, "node-a", "/etc/pods/other.yaml"),
		"another image": static(strings.Replace(web, "app:1.0", "app:2.0", 1), "node-a", "/etc/pods/web.yaml"),
	} {
		if other.UID == pod.UID {
			t.Errorf("%s has the same UID", name)
		}
	}
	if again := static(web, "node-a", "/etc/pods/web.yaml"); again.UID != pod.UID {
		t.Error("the same file has another UID the next time")
	}
	if own := static(strings.Replace(web, "spec:", "  uid: mine\nspec:", 1), "node-a", "f"); own.UID != "mine" {
		t.Errorf("got UID %q, want the manifest's own", own.UID)
	}
	later := decodeOne(t, web)
	manifest.Static(manifest.Doc{Pod: later}, manifest.Place{Node: "node-a", Source: manifest.FromFile, Origin: "/etc/pods/web.yaml"}, seen.Add(time.Hour))
	if got := manifest.Change(pod, later); got.Kind != manifest.Same {
		t.Errorf("reading a file again is %v %q, want same", got.Kind, got.Fields)
	}
}

func TestChangeOfResources(t *testing.T) {
	const before = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers:
  - {name: first, image: 'i:1', resources: {requests: {cpu: 50m}}}
  containers:
  - name: app
    image: app:1
    resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}, {resourceName: memory, restartPolicy: RestartContainer}]
    resources: {requests: {cpu: 100m, memory: 32Mi}, limits: {cpu: 200m}}
`
	for name, test := range map[string]struct {
		old, new string
		kind     manifest.Kind
		resized  bool
		restarts []string
	}{
		"more CPU is given in place":                     {"cpu: 100m", "cpu: 150m", manifest.InPlace, true, nil},
		"memory as well, with a restart":                 {"memory: 32Mi", "memory: 64Mi", manifest.InPlace, true, []string{"app"}},
		"the same amount in other words is none":         {"cpu: 100m", "cpu: 0.1", manifest.Same, false, nil},
		"a limit may be added":                           {"limits: {cpu: 200m}", "limits: {cpu: 200m, memory: 64Mi}", manifest.InPlace, true, []string{"app"}},
		"none can be dropped":                            {"limits: {cpu: 200m}", "limits: {}", manifest.Replace, true, nil},
		"what runs before the others is resized too":     {"cpu: 50m", "cpu: 60m", manifest.InPlace, true, nil},
		"the disk is not either":                         {"memory: 32Mi}", "memory: 32Mi, ephemeral-storage: 1Gi}", manifest.Replace, false, nil},
		"how it is done cannot change":                   {"NotRequired", "RestartContainer", manifest.Replace, false, nil},
		"a change that replaces the pod replaces it all": {"image: app:1\n", "image: app:1\n    command: [a]\n", manifest.Replace, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(before, test.old) {
				t.Fatalf("no %q to replace", test.old)
			}
			a, b := decodeOne(t, before), decodeOne(t, strings.Replace(before, test.old, test.new, 1))
			got := manifest.Change(a, b)
			if restarts := manifest.RestartedBy(a, b); got.Kind != test.kind || got.Resized != test.resized || !slices.Equal(restarts, test.restarts) {
				t.Errorf("got %v, resized %t, restarts %q (%q); want %v, %t, %q", got.Kind, got.Resized, restarts, got.Fields, test.kind, test.resized, test.restarts)
			}
		})
	}
}

func TestChangeOfResourcesAsAWhole(t *testing.T) {
	const before = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  resources: {requests: {cpu: 100m, memory: 32Mi}, limits: {cpu: 200m}}
  containers:
  - {name: app, image: 'app:1'}
`
	for name, test := range map[string]struct {
		old, new string
		kind     manifest.Kind
	}{
		"more CPU is given in place":            {"cpu: 100m", "cpu: 150m", manifest.InPlace},
		"a limit may be added":                  {"limits: {cpu: 200m}", "limits: {cpu: 200m, memory: 64Mi}", manifest.InPlace},
		"none can be dropped":                   {", memory: 32Mi", "", manifest.Replace},
		"nor can all, which leaves the default": {"limits: {cpu: 200m}", "limits: {}", manifest.Replace},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := decodeOne(t, before), decodeOne(t, strings.Replace(before, test.old, test.new, 1))
			if got := manifest.Change(a, b); got.Kind != test.kind || !got.Resized || len(manifest.RestartedBy(a, b)) > 0 {
				t.Errorf("got %v, resized %t (%q); want %v without a restart", got.Kind, got.Resized, got.Fields, test.kind)
			}
		})
	}
}

func TestAnotherClassOfServiceReplacesThePod(t *testing.T) {
	const before = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: app, image: 'a:1', resources: {requests: {cpu: 100m}}}\n"
	got := manifest.Change(decodeOne(t, before), decodeOne(t, strings.Replace(before, "100m", "0", 1)))
	if got.Kind != manifest.Replace {
		t.Errorf("got %v, want it replaced: it would have to move in the tree of cgroups", got.Kind)
	}
}

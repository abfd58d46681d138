package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
)

// examples are the manifests below docs/examples, by name.
func examples(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../docs/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("the examples are %q, %v", files, err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = strings.ReplaceAll(string(text), "busybox:1.37", "nodal.test/busybox:1")
	}
	return all
}

func TestTheExamplesWork(t *testing.T) {
	claim.Shows(t, "Pod lifecycle", "each example of docs/examples does what it says")
	all := examples(t)
	n := start(t, func(c *agent.Config) { c.Settings["staticPodPath"] = filepath.Join(c.Dir, "static") })
	page := func(name, want string) {
		t.Helper()
		if got := n.answer(n.waitRunning(name).Status.PodIP + ":8080"); !strings.Contains(got, want) {
			t.Errorf("%s answers %q, want %q", name, got, want)
		}
	}
	says := func(name, container, want string) {
		t.Helper()
		n.eventually(name+" to say "+want, func() bool {
			return strings.Contains(n.curl("/v1/namespaces/default/pods/"+name+"/containers/"+container+"/logs").body, want)
		})
	}
	for name, shows := range map[string]func(text string){
		"web.yaml": func(text string) { n.apply(text); page("web", "hello from a pod") },
		"published-port.yaml": func(text string) {
			n.apply(strings.Replace(text, "hostPort: 8080", "hostPort: 18082", 1))
			n.waitRunning("published")
			if got := n.answer("127.0.0.1:18082"); !strings.Contains(got, "hello from outside") {
				t.Errorf("the port of the machine answers %q", got)
			}
		},
		"settings.yaml": func(text string) {
			n.apply(text)
			says("settings", "main", "green log = info open-sesame")
			n.apply(strings.Replace(text, "log = info", "log = debug", 1))
			n.eventually("the file to change", func() bool { return n.inside("settings", "main", "cat /conf/app.conf") == "log = debug\n" })
		},
		// Not the database itself: its image is large. This shows what the manifest gives it.
		"postgres.yaml": func(text string) {
			text = strings.Replace(text, "postgres:17-alpine", "nodal.test/busybox:1\n    command: [sh, -c, mkdir $PGDATA; exec sleep 1000]", 1)
			n.apply(strings.Replace(text, "[pg_isready, -U, postgres]", "[test, -d, /var/lib/postgresql/data/pgdata]", 1))
			n.waitRunning("postgres")
			if got := n.inside("postgres", "postgres", `echo $(id -u) $POSTGRES_PASSWORD $(stat -c %g $PGDATA)`); got != "70 change-me 70\n" {
				t.Errorf("the database has %q", got)
			}
			n.deletePod("postgres", "?gracePeriodSeconds=1")
			n.apply(strings.Replace(text, "mkdir $PGDATA", "ls $PGDATA && echo kept", 1))
			says("postgres", "postgres", "kept")
		},
		"init.yaml":    func(text string) { n.apply(text); page("prepared", "prepared") },
		"sidecar.yaml": func(text string) { n.apply(text); says("sidecar", "log", "line 2 of the application") },
		"probes.yaml": func(text string) {
			n.apply(text)
			if p := n.waitRunning("probed"); containerStatus(p, "web").RestartCount != 0 {
				t.Errorf("while it started, the pod was restarted: %+v", p.Status.ContainerStatuses)
			}
		},
		"job.yaml": func(text string) {
			n.apply(text)
			p := n.wait("job", "the job is done", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
			if got := containerStatus(p, "job").RestartCount; got != 1 {
				t.Errorf("it was tried again %d times, want once", got)
			}
		},
		"order.yaml": func(text string) {
			n.apply(text)
			front, cache := n.waitRunning("front"), n.waitRunning("cache")
			if a, b := containerStatus(cache, "cache").State.Running, containerStatus(front, "front").State.Running; !a.StartedAt.Before(&b.StartedAt) {
				t.Errorf("front began at %s, cache at %s", b.StartedAt, a.StartedAt)
			}
		},
		"hardened.yaml": func(text string) {
			if got := n.curlTLS("operator", "/v1/manifests", "--data-binary", text); got.code != 200 {
				t.Errorf("an operator posts it: %s", got)
			}
			page("hardened", "10001")
		},
		// A node without a GPU says what is missing. TestPodsHaveAGPUWithoutItsPlugin has one.
		"gpu.yaml": func(text string) { n.tryRefused(text, "unregistered device nvidia.com/gpu") },
		"static-pod.yaml": func(text string) {
			n.file("node/static/agent.yaml", text)
			n.wait("agent-node-a", "the static pod runs", ready)
		},
	} {
		text, there := all[name]
		if !there {
			t.Errorf("there is no docs/examples/%s", name)
			continue
		}
		delete(all, name)
		shows(text)
	}
	if len(all) > 0 {
		t.Errorf("this test does not know the examples %q", slices.Sorted(maps.Keys(all)))
	}
}

package client

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
)

func (n *fakeNode) Apply(_ context.Context, r *nodev1.ApplyRequest) (*nodev1.ApplyResponse, error) {
	n.asked = append(n.asked, r.GetManifest())
	return &nodev1.ApplyResponse{Outcomes: n.planned}, nil
}

func (n *fakeNode) Plan(context.Context, *nodev1.PlanRequest) (*nodev1.PlanResponse, error) {
	return &nodev1.PlanResponse{Outcomes: n.planned}, nil
}

func TestApplyTakesFilesADirectoryAndInput(t *testing.T) {
	n := newFakeNode(t)
	n.planned = []*nodev1.Outcome{
		{Kind: "Pod", Namespace: "default", Name: "web", Result: nodev1.Result_RESULT_UPDATED, Restarts: []string{"main"}, Warnings: []string{"careful\x1b[2J"}},
		{Kind: "ConfigMap", Namespace: "shop", Name: "a", Result: nodev1.Result_RESULT_UNCHANGED},
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"b.yaml": "---\nkind: B\n", "a.json": "{}", "notes.txt": "no", ".hidden.yaml": "no"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, failed, code := n.run(t, "apply", "-f", dir, "-f", filepath.Join(dir, "b.yaml"))
	if want := "pod/web updated, restarts main\nconfigmap/a of namespace shop unchanged\n"; code != 0 || out != want || failed != "warning: pod/web: careful\\x1b[2J\n" {
		t.Errorf("got %d, %q, %q, want %q", code, out, failed, want)
	}
	if want := "{}\n---\nkind: B\n\n---\nkind: B\n"; len(n.asked) != 1 || n.asked[0] != want {
		t.Errorf("sent %q, want %q", n.asked, want)
	}
	for args, want := range map[string]string{
		"apply":                       "-f missing",
		"apply web.yaml":              "manifests are named with -f",
		"apply -f " + dir + "/nope":   "no such file",
		"plan -f " + t.TempDir():      "holds no .yaml, .yml or .json file",
		"delete":                      "want names of pods",
		"delete configmap":            "want the names of the configmaps",
		"delete node node-a":          "nodes cannot be deleted",
		"delete thing/x":              `unknown kind "thing"`,
		"restart":                     "POD missing",
		"cordon node-a":               `unexpected "node-a"`,
		"wait":                        "POD missing",
		"wait web --for gone":         "want ready, deleted or succeeded",
		"wait web -l a=b --timeout 1": "--timeout",
	} {
		if _, failed, code := n.run(t, strings.Fields(args)...); code == 0 || !strings.Contains(failed, want) {
			t.Errorf("%s: got %d, %q, want %q", args, code, failed, want)
		}
	}
}

func TestDiffShowsBothValuesButNoneOfSecrets(t *testing.T) {
	n := newFakeNode(t)
	n.pods = somePods(t)
	n.objects = []*nodev1.Object{{Kind: "Secret", Namespace: "default", Name: "key", Object: object(t, map[string]any{"data": map[string]any{"p": "b2xk"}})}}
	n.planned = []*nodev1.Outcome{
		{Kind: "Pod", Namespace: "default", Name: "web", Result: nodev1.Result_RESULT_REPLACED, Changes: []string{"spec.containers[0].image", "metadata.labels[app]", "spec.hostname"}},
		{Kind: "Secret", Namespace: "default", Name: "key", Result: nodev1.Result_RESULT_UPDATED, Changes: []string{"data[p]"}},
		{Kind: "Pod", Namespace: "default", Name: "new", Result: nodev1.Result_RESULT_CREATED},
		{Kind: "Pod", Namespace: "default", Name: "same", Result: nodev1.Result_RESULT_UNCHANGED},
	}
	file := filepath.Join(t.TempDir(), "all.yaml")
	text := `kind: List
items:
- {kind: Pod, metadata: {name: web}, spec: {containers: [{name: main, image: "busybox:\u001b[2J"}], hostname: h}}
---
{kind: Secret, metadata: {name: key}, stringData: {p: sesame}}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = `pod/web would be replaced
  spec.containers[0].image
    - busybox
    + busybox:\x1b[2J
  metadata.labels[app]
    - web
    + (not set)
  spec.hostname
    - (not set)
    + h
secret/key would be updated
  data[p]
pod/new would be created
`
	for flag, code := range map[string]int{"--exit-code": 3, "--exit-code=false": 0} {
		out, failed, got := n.run(t, "diff", "-f", file, flag)
		if got != code || out != want {
			t.Errorf("%s: got %d, %q\n%s\nwant %d\n%s", flag, got, failed, out, code, want)
		}
	}
	out, _, code := n.run(t, "plan", "-f", file, "--exit-code")
	if code != 3 || !strings.Contains(out, "replaced   Pod     default    web   <none>    spec.containers[0].image, metadata.labels[app]") {
		t.Errorf("plan: got %d\n%s", code, out)
	}
	n.planned = n.planned[3:]
	if _, _, code := n.run(t, "plan", "-f", file, "--exit-code"); code != 0 {
		t.Errorf("a plan without a change: got %d", code)
	}
}

func TestPathsOfFieldsAreSplit(t *testing.T) {
	for field, want := range map[string][]string{
		"spec.containers[0].image":       {"spec", "containers", "0", "image"},
		"metadata.labels[example.com/a]": {"metadata", "labels", "example.com/a"},
		"data[a.b]":                      {"data", "a.b"},
		"immutable":                      {"immutable"},
	} {
		if got := fieldPath(field); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", field, got, want)
		}
	}
}

func TestWhenAWaitIsOver(t *testing.T) {
	added, gone, synced := nodev1.WatchType_WATCH_TYPE_ADDED, nodev1.WatchType_WATCH_TYPE_DELETED, nodev1.WatchType_WATCH_TYPE_SYNCED
	pod := func(name string, change func(*nodev1.Pod)) *nodev1.Pod {
		p := &nodev1.Pod{Name: name, Uid: "u-" + name, Phase: nodev1.PodPhase_POD_PHASE_RUNNING}
		change(p)
		return p
	}
	busy := func(*nodev1.Pod) {}
	ready := func(p *nodev1.Pod) { p.Ready = true }
	ending := func(p *nodev1.Pod) { p.Ready, p.DeletionDeadline = true, timestamppb.Now() }
	failed := func(p *nodev1.Pod) { p.Phase, p.Reason = nodev1.PodPhase_POD_PHASE_FAILED, "Error" }
	done := func(p *nodev1.Pod) { p.Phase = nodev1.PodPhase_POD_PHASE_SUCCEEDED }
	type message = nodev1.WatchPodsResponse
	end := &message{Type: synced}
	is := func(kind nodev1.WatchType, name string, change func(*nodev1.Pod)) *message {
		return &message{Type: kind, Pod: pod(name, change)}
	}
	pending := errors.New("it waits on")
	for _, c := range []struct {
		name string
		w    waiting
		all  []*message
		want string // the error, or empty
	}{
		{"ready", waiting{state: "ready", names: []string{"a"}}, []*message{is(added, "a", ready), end}, ""},
		{"ready later", waiting{state: "ready", names: []string{"a"}}, []*message{is(added, "a", busy), end, is(added, "a", ready)}, ""},
		{"not before all of them are known", waiting{state: "ready", selector: "x"}, []*message{is(added, "a", ready)}, pending.Error()},
		{"not while one is not", waiting{state: "ready", selector: "x"}, []*message{is(added, "a", ready), is(added, "b", busy), end}, pending.Error()},
		{"not while it ends", waiting{state: "ready", names: []string{"a"}}, []*message{is(added, "a", ending), end}, pending.Error()},
		{"others do not count", waiting{state: "ready", names: []string{"a"}}, []*message{is(added, "a", ready), is(added, "b", failed), end}, ""},
		{"not there", waiting{state: "ready", namespace: "n", names: []string{"a"}}, []*message{end}, "pod n/a is not there"},
		{"none has the labels", waiting{state: "ready", selector: "x=y"}, []*message{end}, "a pod with labels x=y is not there"},
		{"failed", waiting{state: "ready", namespace: "n", names: []string{"a"}}, []*message{is(added, "a", failed), end}, "pod n/a has failed: Error"},
		{"ended", waiting{state: "ready", names: []string{"a"}}, []*message{is(added, "a", done), end}, "--for succeeded"},
		{"succeeded", waiting{state: "succeeded", names: []string{"a"}}, []*message{is(added, "a", ready), end, is(added, "a", done)}, ""},
		{"deleted", waiting{state: "deleted", names: []string{"a"}}, []*message{is(added, "a", ending), end, is(gone, "a", ending)}, ""},
		{"deleted before", waiting{state: "deleted", names: []string{"a"}}, []*message{end}, ""},
		{"not deleted yet", waiting{state: "deleted", names: []string{"a"}}, []*message{is(added, "a", ending), end}, pending.Error()},
		{"another of the name", waiting{state: "deleted", names: []string{"a"}, uid: "old"}, []*message{is(added, "a", busy), end}, ""},
	} {
		err := pending
		for _, m := range c.all {
			if over, failed := c.w.see(m); over {
				err = failed
				break
			}
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestAWaitThatIsInVainSaysHowThePodsAre(t *testing.T) {
	n := newFakeNode(t)
	n.still = true
	n.pods = []*nodev1.Pod{{Namespace: "default", Name: "a", Phase: nodev1.PodPhase_POD_PHASE_PENDING}}
	_, failed, code := n.run(t, "wait", "a", "--timeout", "100ms")
	if want := "not ready after 100ms\npod default/a is Pending"; code != 1 || !strings.Contains(failed, want) {
		t.Errorf("got %d, %q, want 1 and %q", code, failed, want)
	}
}

func TestAPodThatIsNamedTwiceIsWaitedForOnce(t *testing.T) {
	w := waiting{state: "ready"}
	if err := w.read([]string{"web", "pod/web"}); err != nil || len(w.names) != 1 {
		t.Errorf("got %q, %v, want one name", w.names, err)
	}
}

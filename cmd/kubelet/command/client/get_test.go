package client

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
)

// somePods has a pod that runs, and one whose texts try to steer the terminal.
func somePods(t *testing.T) []*nodev1.Pod {
	accepted := timestamppb.New(time.Now().Add(-90 * time.Second))
	return []*nodev1.Pod{{
		Namespace: "default", Name: "web", Phase: nodev1.PodPhase_POD_PHASE_RUNNING, Ready: true, AcceptedAt: accepted, PodIps: []string{"10.0.0.7"},
		Source: "api", Object: object(t, map[string]any{
			"kind": "Pod", "metadata": map[string]any{"name": "web", "labels": map[string]any{"app": "web"}},
			"spec":   map[string]any{"containers": []any{map[string]any{"name": "main", "image": "busybox"}}},
			"status": map[string]any{"podIP": "10.0.0.7", "containerStatuses": []any{map[string]any{"name": "main", "ready": true}}},
		}),
	}, {
		Namespace: "shop", Name: "evil", Phase: nodev1.PodPhase_POD_PHASE_PENDING, Reason: "ImagePullBackOff", AcceptedAt: accepted, Restarts: 3,
		Message: "\x1b[2J\x1b]0;owned\a" + strings.Repeat("long ", 50) + "\u202e",
		Object:  object(t, map[string]any{"kind": "Pod", "spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": "no\x1b[31m"}}}}),
	}}
}

func TestGetShowsPodsInATableOfAtMost120Columns(t *testing.T) {
	n := newFakeNode(t)
	n.pods = somePods(t)
	out, failed, code := n.run(t, "get", "pods", "-A", "-l", "app=web")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if code != 0 || failed != "" || len(lines) != 3 || n.asked[0] != "list  app=web" {
		t.Fatalf("got %d, %q, asked %q\n%s", code, failed, n.asked, out)
	}
	for i, want := range []string{
		"NAMESPACE  NAME  READY  STATUS            RESTARTS  AGE  MESSAGE",
		"default    web   1/1    Running           0         90s",
		`shop       evil  0/1    ImagePullBackOff  3         90s  \x1b[2J\x1b]0;owned\along long`,
	} {
		if !strings.HasPrefix(lines[i], want) || utf8.RuneCountInString(lines[i]) > tableWidth {
			t.Errorf("line %d: got %q, want %q", i, lines[i], want)
		}
	}
	out, _, _ = n.run(t, "get", "pods", "-o", "wide")
	if strings.ContainsAny(out, "\x1b\a\u202e") || !strings.Contains(out, "10.0.0.7  api") || !strings.Contains(out, `no\x1b[31m`) || strings.Contains(out, "…") {
		t.Errorf("wide: got\n%q", out)
	}
}

func TestGetShowsEachForm(t *testing.T) {
	n := newFakeNode(t)
	n.pods = somePods(t)[:1]
	for _, c := range []struct{ args, want string }{
		{"get pods -o name", "pod/web\n"},
		{"get web -o jsonpath={.status.podIP}", "10.0.0.7"},
		{"get web -o jsonpath=.status.podIP", "10.0.0.7"},
		{"get pods -o jsonpath={.items[*].metadata.name}", "web"},
		{"get pod/web -o name", "pod/web\n"},
		{"get po web -o yaml", "kind: Pod\nmetadata:\n  labels:\n    app: web\n"},
		{"get pods -w -o name", "pod/web\npod/web\n"},
		{"get pods -w", "EVENT  NAME  READY  STATUS   RESTARTS  AGE  MESSAGE\nADDED  web   1/1    Running  0         90s\nDELETED  web   1/1"},
	} {
		out, failed, _ := n.run(t, strings.Fields(c.args)...)
		if !strings.HasPrefix(out, c.want) {
			t.Errorf("%s: got %q, %q, want %q", c.args, out, failed, c.want)
		}
	}
	out, _, _ := n.run(t, "get", "pods", "-o", "json")
	var list struct {
		Kind  string
		Items []struct{ Kind string }
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || list.Kind != "List" || len(list.Items) != 1 || list.Items[0].Kind != "Pod" {
		t.Errorf("json: got %v\n%s", err, out)
	}
}

func TestValuesOfSecretsAreShownToAdminsThatAskForThem(t *testing.T) {
	n := newFakeNode(t)
	n.objects = []*nodev1.Object{{Kind: "Secret", Namespace: "default", Name: "key", Keys: []string{"password"}, Object: object(t, map[string]any{
		"kind": "Secret", "data": map[string]any{"password": "c2VjcmV0"},
	})}}
	for _, c := range []struct {
		args          string
		admin, values bool
	}{
		{"get secrets", true, false},
		{"get secrets -o wide", true, false},
		{"get secrets -o name", true, false},
		{"get secrets -o yaml", true, true},
		{"get secrets -o json", true, true},
		{"get secrets -o yaml", false, false},
	} {
		n.values = c.admin
		out, failed, code := n.run(t, strings.Fields(c.args)...)
		if got := strings.Contains(out, "c2VjcmV0"); got != c.values || code != 0 || !strings.Contains(out, "key") && !strings.Contains(out, "Secret") {
			t.Errorf("%s, as admin %t: got code %d, %q\n%s", c.args, c.admin, code, failed, out)
		}
		if told := strings.Contains(failed, "only an admin"); told == c.admin {
			t.Errorf("%s, as admin %t: got %q", c.args, c.admin, failed)
		}
	}
}

func TestDescribeTellsWhyAPodIsNotReady(t *testing.T) {
	n := newFakeNode(t)
	n.pods = somePods(t)
	n.pods[1].Message = "pull image: \x1b[31mno such host"
	n.events = []*nodev1.Event{{Reason: "Failed", Type: nodev1.EventType_EVENT_TYPE_WARNING, Message: "no such host", Container: "main", Time: timestamppb.Now()}}
	out, failed, code := n.run(t, "describe", "pod", "evil", "-n", "shop")
	for _, want := range []string{"Status:          ImagePullBackOff\n", `pull image: \x1b[31mno such host`, "    State:       not started\n", "Warning  Failed  1      main: no such host"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("got %d, %q, want %q in\n%s", code, failed, want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("it steers the terminal: %q", out)
	}
}

func TestFaultsNameWhatToDo(t *testing.T) {
	n := newFakeNode(t)
	n.pods = somePods(t)
	n.objects = nil
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"gte pods", 2, "unknown verb \"gte\"; did you mean get?"},
		{"frobnicate", 2, "kubelet help lists the verbs"},
		{"get", 2, "kind missing: want one of pods"},
		{"get pods --selctor=x", 2, "unknown flag: --selctor; did you mean --selector?"},
		{"get pods -o xml", 2, "want wide, json, yaml, name or jsonpath"},
		{"get pods -o jsonpath={.a", 2, "unclosed action"},
		{"get ingresses/web", 2, `unknown kind "ingresses"`},
		{"get nodes -l a=b", 2, "nodes have no labels to select by"},
		{"get podz", 1, "pod default/podz: not found; kubelet get pods -A lists them all, and pods is a kind"},
		{"describe", 2, "want KIND NAME or the name of a pod"},
		{"get secrets", 0, "no secrets in namespace default; -A shows all namespaces"},
		{"get pods --node=https://n", 2, "--socket, --node and --context each name a node"},
	} {
		_, failed, code := n.run(t, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(failed, c.want) {
			t.Errorf("%s: got code %d, %q, want %d, %q", c.args, code, failed, c.code, c.want)
		}
	}
	_, failed, code := runVerb("get", "pods", "--socket", t.TempDir()+"/none.sock")
	if code != 1 || !strings.Contains(failed, "no node answers at") || !strings.Contains(failed, "start it, or name another") {
		t.Errorf("without a node: got %d, %q", code, failed)
	}
}

func TestEveryVerbHasAnExample(t *testing.T) {
	for _, v := range Verbs() {
		out, _, code := runVerb(v.Name, "--help")
		if code != 0 || v.Example == "" || !strings.Contains(out, "Example:\n  kubelet "+v.Name) || !strings.Contains(out, "Usage:\n  kubelet "+v.Name) {
			t.Errorf("%s: got code %d\n%s", v.Name, code, out)
		}
		if again, _, _ := runVerb("help", v.Name); again != out {
			t.Errorf("help %s: got another text than from --help", v.Name)
		}
	}
}

package oom

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// named stands for the names of cgroups. A path is its words here.
var named = Cgroups{
	Words:    func(path string) []string { return strings.FieldsFunc(path, func(r rune) bool { return r == '/' }) },
	PodWords: func(uid string) [2]string { return [2]string{"pod" + uid, "pod" + strings.ReplaceAll(uid, "-", "_")} },
}

func viewOf(name string, uid types.UID, runs ...node.Container) store.View {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: uid}}
	view := store.View{Key: node.Key{Namespace: "default", Name: name}, Slot: node.NewSlot(&node.Pod{Object: pod})}
	if runs != nil {
		view.Got = &node.Observed{Containers: runs}
	}
	return view
}

// known are two pods. The second one has not been looked at yet.
var known = []store.View{
	viewOf("web", "a-1", node.Container{ID: "0c1d", Name: "main", UID: "a-1"}, node.Container{ID: "0dd0", Name: "main", UID: "old"}),
	viewOf("db", "b-2"),
}

func TestAKillIsToldToThePodAndTheNodeItConcerns(t *testing.T) {
	const system = "SystemOOM : System OOM encountered, victim process: tail, pid: 7"
	for _, c := range []struct {
		name string
		kill node.Kill
		want string // reason, pod/container and message of each event
	}{
		{"the container at its limit", node.Kill{Cgroup: "/k/poda-1/0c1d", Limited: "/k/poda-1/0c1d", Limit: 64 << 20},
			`OOMKilled web/main: the kernel killed process "tail" (pid 7) of container main: the container was at its memory limit of 64Mi`},
		{"the pod at its limit", node.Kill{Cgroup: "/k/poda_1/0c1d", Limited: "/k/poda_1", Limit: 1 << 30},
			`OOMKilled web/main: the kernel killed process "tail" (pid 7) of container main: the pod was at its memory limit of 1Gi`},
		{"all pods at their limit", node.Kill{Cgroup: "/x/k/poda-1/0c1d", Limited: "/x/k", Limit: 1 << 30},
			`OOMKilled web/main: the kernel killed process "tail" (pid 7) of container main: all pods together were at their memory limit of 1Gi` + "\n" + system},
		{"the machine out of memory", node.Kill{Cgroup: "/k/poda-1/0c1d", Machine: true},
			`OOMKilled web/main: the kernel killed process "tail" (pid 7) of container main: the machine was out of memory` + "\n" + system},
		{"a program of the machine, which is out of memory", node.Kill{Cgroup: "/system/sshd", Machine: true}, system},
		{"a program at a limit of its own", node.Kill{Cgroup: "/system/sshd", Limited: "/system"}, ""},
		{"a pod of another kubelet", node.Kill{Cgroup: "/k/podc-3/9999", Limited: "/k/podc-3/9999"}, ""},
		{"a sandbox", node.Kill{Cgroup: "/k/podb-2/5a5a", Limited: "/k/podb-2"},
			`OOMKilled db/: the kernel killed process "tail" (pid 7): the pod was at its memory limit`},
		{"a run of the pod before", node.Kill{Cgroup: "/k/podold/0dd0", Limited: "/k/podold/0dd0"},
			`OOMKilled web/main: the kernel killed process "tail" (pid 7) of container main: the container was at its memory limit`},
		{"a cgroup that the container has made", node.Kill{Cgroup: "/k/poda-1/0c1d/init", Limited: "/k/poda-1/0c1d/init"},
			`OOMKilled web/main: the kernel killed process "tail" (pid 7) of container main: a cgroup inside of the pod was at its memory limit`},
		{"one that is called like another pod", node.Kill{Cgroup: "/k/poda-1/0c1d/podb-2", Limited: "/k/poda-1/0c1d"},
			`OOMKilled web/main: the kernel killed process "tail" (pid 7) of container main: the container was at its memory limit`},
		{"pods without cgroups of their own", node.Kill{Cgroup: "/k/0c1d", Limited: "/k/0c1d"},
			`OOMKilled web/main: the kernel killed process "tail" (pid 7) of container main: the container was at its memory limit`},
		{"the cgroup around such pods", node.Kill{Cgroup: "/k/0c1d", Limited: "/k"},
			`OOMKilled web/main: the kernel killed process "tail" (pid 7) of container main: all pods together were at their memory limit` + "\n" + system},
		{"a limit that the kernel did not name", node.Kill{Cgroup: "/k/poda-1/0c1d"},
			`OOMKilled web/main: the kernel killed process "tail" (pid 7) of container main: a limit of memory was reached`},
		{"a process that is gone", node.Kill{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.kill.Process, c.kill.PID = "tail", 7
			var got []string
			for _, e := range named.Events(c.kill, known, time.Unix(1, 0)) {
				where := ""
				if (e.Key != node.Key{}) {
					where = e.Key.Name + "/" + e.Container
				}
				if !e.Warning || !e.Time.Equal(time.Unix(1, 0)) {
					t.Errorf("%s: got %+v, want a warning of now", e.Reason, e)
				}
				got = append(got, e.Reason+" "+where+": "+e.Message)
			}
			if text := strings.Join(got, "\n"); text != c.want {
				t.Errorf("got\n%s\nwant\n%s", text, c.want)
			}
		})
	}
}

func TestTheEventIsOfThePodThatHadTheContainer(t *testing.T) {
	events := named.Events(node.Kill{Cgroup: "/k/podold/0dd0"}, known, time.Time{})
	if len(events) != 1 || events[0].UID != "old" {
		t.Errorf("got %+v, want an event with the UID of the pod before", events)
	}
}

// script is a kernel's log that ends.
type script struct{ err error }

func (s script) Watch(_ context.Context, tell func(node.Kill), lost func(uint64)) error {
	tell(node.Kill{Process: "tail", PID: 7, Cgroup: "/k/poda-1/0c1d", Machine: true})
	lost(0)
	lost(12)
	return s.err
}

func TestWatchAddsEventsAndSaysWhatItMissed(t *testing.T) {
	var log strings.Builder
	var got []node.Event
	Watch{
		Kernel: script{errors.New("broken")}, Cgroups: named, Clock: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Views: func() ([]store.View, int64) { return known, 1 }, Event: func(e node.Event) { got = append(got, e) },
	}.Run(t.Context())
	want := []string{node.OOMKilled, node.SystemOOM, "KernelLogOverrun", "KernelLogOverrun"}
	if len(got) != len(want) {
		t.Fatalf("got %+v, want %q", got, want)
	}
	for i, e := range got {
		if e.Reason != want[i] {
			t.Errorf("event %d is %+v, want %s", i, e, want[i])
		}
	}
	if !strings.Contains(got[2].Message, "unknown number") || !strings.Contains(got[3].Message, "overwrote 12 messages") {
		t.Errorf("got %q and %q, want how many messages are missing", got[2].Message, got[3].Message)
	}
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "broken") {
		t.Errorf("logged %q, want a warning with the failure", log.String())
	}
}

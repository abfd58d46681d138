package assign

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/store"
)

func TestPool(t *testing.T) {
	rules := &Rules{Topology: machine(1, 1, 4, 1), Static: true, Reserved: cpuset.New(0)}
	strict := *rules
	strict.Options.KeepReserved = true
	none := &Rules{Topology: rules.Topology}

	key := node.Key{Namespace: "default", Name: "web"}
	view := func(slot *node.Slot) []store.View { return []store.View{{Key: key, Slot: slot}} }
	pod := func(cpus string) *node.Pod {
		return &node.Pod{Object: &corev1.Pod{}, Shares: node.Shares{"app": {CPUs: cpus}}}
	}
	gone := []store.View{{Key: key, Slot: &node.Slot{Pod: pod("1")}, Gone: true}}
	for _, c := range []struct {
		name  string
		rules *Rules
		views [][]store.View
		news  bool // of the last
		want  string
	}{
		{"all of them are told at first", rules, [][]store.View{nil}, true, "0-3"},
		{"and not again", rules, [][]store.View{nil, nil}, false, "0-3"},
		{"without those that a pod has", rules, [][]store.View{view(&node.Slot{Pod: pod("1")})}, true, "0,2-3"},
		{"and those of the one that waits for its name", rules, [][]store.View{view(&node.Slot{Pod: pod("1"), Next: pod("2-3")})}, true, "0"},
		{"a change of something else is no news", rules, [][]store.View{view(&node.Slot{Pod: pod("1")}), view(&node.Slot{Pod: pod("1")})}, false, "0,2-3"},
		{"one that has ended gives back", rules, [][]store.View{view(&node.Slot{Pod: pod("1")}), view(&node.Slot{Pod: pod("1"), Result: &corev1.PodStatus{}})}, true, "0-3"},
		{"so does one that is gone", rules, [][]store.View{view(&node.Slot{Pod: pod("1")}), gone}, true, "0-3"},
		{"what is reserved is kept from pods", &strict, [][]store.View{nil}, true, "1-3"},
		{"but for when there is nothing else", &strict, [][]store.View{view(&node.Slot{Pod: pod("1-3")})}, true, "0"},
		{"nobody is told where nobody has any", none, [][]store.View{view(&node.Slot{Pod: pod("")})}, false, "0-3"},
		{"what an earlier owner has promised is kept", none, [][]store.View{view(&node.Slot{Pod: pod("1")})}, true, "0,2-3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool, news := NewPool(c.rules), false
			for _, views := range c.views {
				news = pool.Take(views)
			}
			if got := pool.CPUs(); news != c.news || got != c.want {
				t.Errorf("got %s, news: %t; want %s, news: %t", got, news, c.want, c.news)
			}
		})
	}
}

func TestThePoolFollowsTheCPUsThatAreOnline(t *testing.T) {
	key := node.Key{Namespace: "default", Name: "web"}
	slot := &node.Slot{Pod: &node.Pod{Object: &corev1.Pod{}, Shares: node.Shares{"app": {CPUs: "2"}}}}
	on := func(cpus string, static bool) *Rules {
		online := set(t, cpus)
		rules := &Rules{Static: static, Reserved: cpuset.New(0)}
		for _, c := range machine(1, 1, 4, 1) {
			if online.Contains(c.ID) {
				rules.Topology = append(rules.Topology, c)
			}
		}
		return rules
	}
	for _, c := range []struct {
		name     string
		from, to *Rules
		held     bool // a pod has CPU 2 for its own
		news     bool
		want     string
	}{
		{"one that went is shared no more", on("0-3", true), on("0-2", true), false, true, "0-2"},
		{"one that came is shared", on("0-2", true), on("0-3", true), false, true, "0-3"},
		{"the same ones are no news", on("0-3", true), on("0-3", true), false, false, "0-3"},
		{"one that is a pod's own stays its own when it comes back", on("0-1,3", true), on("0-3", true), true, true, "0-1,3"},
		{"a pod's own is told while pods have any", on("0-3", false), on("0-2", false), true, true, "0-1"},
		{"and not where no pod has any", on("0-3", false), on("0-2", false), false, false, "0-2"},
		{"what is left is shared when all that is reserved is offline", on("0-3", true), on("2", true), true, true, "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool := NewPool(c.from)
			views := []store.View(nil)
			if c.held {
				views = append(views, store.View{Key: key, Slot: slot})
			}
			pool.Take(views)
			pool.Follow(c.to)
			if news, got := pool.Take(nil), pool.CPUs(); news != c.news || got != c.want {
				t.Errorf("got %s, news: %t; want %s, news: %t", got, news, c.want, c.news)
			}
		})
	}
}

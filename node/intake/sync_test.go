package intake

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestSync(t *testing.T) {
	from := func(origin string, p *corev1.Pod) Delivery { return Delivery{Pod: p, Origin: origin} }
	type deliveries []Delivery
	cases := []struct {
		name   string
		before deliveries
		after  deliveries
		keep   []string
		errors []string // "origin: kind"
		pods   []string
	}{
		{"what is delivered comes", nil,
			deliveries{from("f1", pod("web", "a:1")), from("f2", pod("db", "b:1"))}, nil, nil,
			[]string{"db u2 b:1", "web u1 a:1"}},
		{"what is no longer delivered goes",
			deliveries{from("f1", pod("web", "a:1")), from("f2", pod("db", "b:1"))},
			deliveries{from("f1", pod("web", "a:1"))}, nil, nil,
			[]string{"db u2 b:1 until 30 (removed from its source)", "web u1 a:1"}},
		{"what could not be read stays",
			deliveries{from("f1", pod("web", "a:1")), from("f2", pod("db", "b:1"))},
			nil, []string{"f1"}, nil,
			[]string{"db u2 b:1 until 30 (removed from its source)", "web u1 a:1"}},
		{"what is refused leaves the pod that runs",
			deliveries{from("f1", pod("web", "a:1"))},
			deliveries{from("f1", pod("web", "a:2", wantsDevice)), from("f2", pod("db", "b:1"))},
			nil, []string{"f1: invalid"},
			[]string{"db u2 b:1", "web u1 a:1"}},
		{"the first of two new origins has the name", nil,
			deliveries{from("f1", pod("web", "a:1")), from("f2", pod("web", "b:1"))}, nil, []string{"f2: conflict"},
			[]string{"web u1 a:1"}},
		{"the origin that has the name keeps it",
			deliveries{from("f2", pod("web", "b:1"))},
			deliveries{from("f1", pod("web", "a:1")), from("f2", pod("web", "b:1"))}, nil, []string{"f1: conflict"},
			[]string{"web u1 b:1"}},
		{"the origin that has the name keeps it unread",
			deliveries{from("f2", pod("web", "b:1"))},
			deliveries{from("f1", pod("web", "a:1"))}, []string{"f2"}, []string{"f1: conflict"},
			[]string{"web u1 b:1"}},
		{"a name goes to another origin that is left",
			deliveries{from("f2", pod("web", "b:1"))},
			deliveries{from("f1", pod("web", "a:1"))}, nil, nil,
			[]string{"web u1 a:1 generation 2"}},
		{"a pod that has moved belongs to its new place",
			deliveries{from("f2", pod("web", "a:1", uid("u")))},
			deliveries{from("f1", pod("web", "a:1", uid("u")))}, nil, nil,
			[]string{"web u a:1 generation 2"}},
		{"another source's name is not taken", nil,
			deliveries{from("f1", pod("api", "a:1")), from("f2", pod("web", "a:1"))}, nil, []string{"f1: conflict"},
			[]string{"web u1 a:1"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			file := b.as(node.SourceFile)
			file.in.Sync(c.before, nil, b.now)
			// A pod of another source is never touched.
			b.apply(pod("api", "x:1", uid("theirs")))
			keep := map[string]bool{}
			for _, origin := range c.keep {
				keep[origin] = true
			}
			var problems []string
			for origin, err := range file.in.Sync(c.after, keep, b.now) {
				problems = append(problems, origin+": "+kind(err))
			}
			if !slices.Equal(problems, c.errors) {
				t.Errorf("errors = %q, want %q", problems, c.errors)
			}
			var pods []string
			views, _ := b.in.Store.Views()
			for _, v := range views {
				pods = append(pods, v.Key.Name+" "+b.slot(v.Key))
			}
			if want := slices.Concat([]string{"api theirs x:1"}, c.pods); !slices.Equal(pods, want) {
				t.Errorf("pods = %q, want %q", pods, want)
			}
		})
	}
}

func TestSyncReturnsEveryErrorOfAnOrigin(t *testing.T) {
	b := newBench(t)
	b.apply(pod("a", "x:1"), pod("b", "x:1"))
	file := b.as(node.SourceFile)
	problems := file.in.Sync([]Delivery{{Pod: pod("a", "y:1"), Origin: "f"}, {Pod: pod("b", "y:1"), Origin: "f"}}, nil, b.now)
	for _, name := range []string{"default/a", "default/b"} {
		if err := problems["f"]; err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error = %v, want it to name %s", err, name)
		}
	}
}

package reconciler_test

import (
	"testing"
	"time"

	"nodal/node"
)

func TestEndedRunsOfAllPodsStayWithinTheNumberOfTheNode(t *testing.T) {
	for _, c := range []struct {
		name string
		keep node.Retention
		want int // runs of each of two pods that have crashed three times, and run
	}{
		{"no limit of the node", node.Retention{Older: 2, Node: -1}, 3},
		{"room for one more run each", node.Retention{Older: 2, Node: 3}, 2},
		{"no room", node.Retention{Older: 2, Node: 0}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, false, func(b *bench) {
				b.stop()
				b.site.Retention = &c.keep
				b.start()
				for _, name := range []string{"one", "two"} {
					b.apply(pod(name, "exit", "1", "after", "1s"))
				}
				b.rest(time.Hour + time.Second) // longer than every count and every pause
				for _, name := range []string{"one", "two"} {
					view, _ := b.store.View(key(name))
					if got := len(view.Got.Containers); got != c.want {
						t.Errorf("pod %s has %d runs, want %d", name, got, c.want)
					}
				}
			})
		})
	}
}

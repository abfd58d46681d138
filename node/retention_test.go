package node

import "testing"

func TestOlderRunsAreKeptWithinTheNumberOfTheNode(t *testing.T) {
	for _, c := range []struct {
		name  string
		keep  Retention
		older []int
		want  int
	}{
		{"no limit of the node", Retention{Older: 2, Node: -1}, []int{5, 5}, 2},
		{"no limit at all", Retention{Older: -1, Node: -1}, []int{5, 5}, -1},
		{"enough room", Retention{Older: 2, Node: 4}, []int{2, 5}, 2},
		{"room for one each", Retention{Older: 2, Node: 3}, []int{2, 5}, 1},
		{"no limit of a container", Retention{Older: -1, Node: 3}, []int{9, 1}, 2},
		{"no room", Retention{Older: 2, Node: 0}, []int{1}, 0},
		{"more containers than room", Retention{Older: 1, Node: 2}, []int{1, 1, 1}, 0},
		{"nothing to keep", Retention{Older: 1, Node: 0}, []int{0, 0}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.keep.Within(c.older)
			if c.keep.Older = c.want; got != c.keep {
				t.Errorf("got %+v, want %+v", got, c.keep)
			}
		})
	}
}

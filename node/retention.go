package node

import "time"

// Retention says how many runs of containers stay on the machine after they have ended. The newest run of a container
// always stays, as long as its pod does: its exit code and its log are the container's.
type Retention struct {
	MinAge time.Duration // a run that was made later stays, whatever the numbers
	Older  int           // runs of one container besides its newest; negative means no limit
	Node   int           // such runs of all containers together; negative means no limit
}

// UsualRetention is that of every kubelet without settings: clients ask for the run before the newest too.
func UsualRetention() Retention { return Retention{Older: 1, Node: -1} }

// Within lowers the number for each container until all together are within that of the node. older holds the number of
// runs of each container besides its newest.
func (r Retention) Within(older []int) Retention {
	most := 0
	for _, n := range older {
		most = max(most, n)
	}
	if r.Older >= 0 {
		most = min(most, r.Older)
	}
	for ; r.Node >= 0 && most >= 0 && kept(older, most) > r.Node; most-- {
		r.Older = most - 1
	}
	return r
}

// kept returns how many runs stay if no container keeps more than most.
func kept(older []int, most int) (sum int) {
	for _, n := range older {
		sum += min(n, most)
	}
	return sum
}

package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/durationpb"

	nodev1 "nodal/api/gen/node/v1"
)

// topping is one call of top.
type topping struct {
	scope
	containers bool
	sort       string
}

func topVerb() Verb {
	return Verb{
		Name: "top", Words: "[pods|node]", Short: "show what pods and the node use",
		Long:    "CPU is in thousandths of a core; it may take a few seconds to be known. Memory is without page cache that the kernel can free at once.",
		Example: "kubelet top\nkubelet top pods -A --sort-by memory\nkubelet top node",
		Bind: func(flags *pflag.FlagSet) action {
			var t topping
			t.scope.bind(flags)
			flags.BoolVar(&t.containers, "containers", false, "pods: a line for each container")
			flags.StringVar(&t.sort, "sort-by", "cpu", "pods: `order`: cpu, memory or name")
			return func(ctx context.Context, s *session, words []string) error {
				what := "pods"
				if len(words) > 0 {
					what = words[0]
				}
				switch {
				case len(words) > 1 || !slices.Contains([]string{"pods", "pod", "node", "nodes"}, what):
					return misuse("unexpected %q: want pods or node", words[len(words)-1])
				case !slices.Contains([]string{"cpu", "memory", "name"}, t.sort):
					return misuse("--sort-by %s: want cpu, memory or name", t.sort)
				}
				return t.run(ctx, s, what[0] == 'n')
			}
		},
	}
}

func (t *topping) run(ctx context.Context, s *session, node bool) error {
	client, err := clientOf(s, nodev1.NewStatsServiceClient)
	if err != nil {
		return err
	}
	ask := &nodev1.WatchStatsRequest{Namespace: t.of(), Interval: durationpb.New(time.Second)}
	if node {
		ask.Namespace = ""
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.WatchStats(ctx, ask)
	if err != nil {
		return err
	}
	var stats *nodev1.Stats
	for began := time.Now(); ; {
		reply, err := stream.Recv()
		if err != nil {
			return ended(err)
		}
		if stats = reply.GetStats(); known(stats) || time.Since(began) > mostReadings {
			break
		}
	}
	if missing := stats.GetMissing(); missing != "" {
		s.note(fmt.Errorf("some figures are missing: %s", missing))
	}
	if node {
		return nodeUsage(s, stats.GetNode())
	}
	return t.pods(s, stats.GetPods())
}

// mostReadings bounds how long top waits for the use of CPUs. It is an average since the reading before, and runtimes read
// every few seconds.
const mostReadings = 15 * time.Second

// known reports whether the use of CPUs is known of all that has used some.
func known(stats *nodev1.Stats) bool {
	all := []*nodev1.Usage{stats.GetNode().GetUsage()}
	for _, p := range stats.GetPods() {
		all = append(all, p.GetUsage())
	}
	return !slices.ContainsFunc(all, func(u *nodev1.Usage) bool {
		return u.GetCpuTime().AsDuration() > 0 && u.Cores == nil
	})
}

func nodeUsage(s *session, n *nodev1.NodeStats) error {
	show := table{out: s.Out, head: []string{"NAME", "CPU", "MEMORY", "DISK", "IMAGES' DISK"}}
	return show.print([]string{n.GetName(), millicores(n.GetUsage()), memory(n.GetUsage()), disk(n.GetDisk()), disk(n.GetImageDisk())})
}

// pods prints a line for each pod or container, in the wanted order.
func (t *topping) pods(s *session, pods []*nodev1.PodStats) error {
	slices.SortStableFunc(pods, func(a, b *nodev1.PodStats) int {
		order := cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
		switch t.sort {
		case "cpu":
			return cmp.Or(-cmp.Compare(a.GetUsage().GetCores(), b.GetUsage().GetCores()), order)
		case "memory":
			return cmp.Or(-cmp.Compare(a.GetUsage().GetWorkingSetBytes(), b.GetUsage().GetWorkingSetBytes()), order)
		}
		return order
	})
	var rows [][]string
	row := func(p *nodev1.PodStats, container string, u *nodev1.Usage) {
		var r []string
		if t.all {
			r = append(r, p.GetNamespace())
		}
		r = append(r, p.GetName())
		if t.containers {
			r = append(r, container)
		}
		rows = append(rows, append(r, millicores(u), memory(u)))
	}
	for _, p := range pods {
		if !t.containers {
			row(p, "", p.GetUsage())
		}
		for _, c := range p.GetContainers() {
			if t.containers {
				row(p, c.GetName(), c.GetUsage())
			}
		}
	}
	if len(rows) == 0 {
		s.note(fmt.Errorf("no pods with figures; -A shows all namespaces"))
		return nil
	}
	var head []string
	if t.all {
		head = append(head, "NAMESPACE")
	}
	head = append(head, "NAME")
	if t.containers {
		head = append(head, "CONTAINER")
	}
	show := table{out: s.Out, head: append(head, "CPU", "MEMORY")}
	return show.print(rows...)
}

// millicores writes the use of CPUs as Kubernetes does. There is none before the second reading.
func millicores(u *nodev1.Usage) string {
	if u == nil || u.Cores == nil {
		return "<unknown>"
	}
	return fmt.Sprintf("%dm", int64(u.GetCores()*1000+0.5))
}

func memory(u *nodev1.Usage) string {
	if u == nil || u.WorkingSetBytes == nil {
		return "<unknown>"
	}
	return mebibytes(u.GetWorkingSetBytes())
}

func disk(d *nodev1.Disk) string {
	if d == nil {
		return "<unknown>"
	}
	return mebibytes(d.GetUsedBytes()) + " of " + mebibytes(d.GetCapacityBytes())
}

func mebibytes(n uint64) string { return fmt.Sprintf("%dMi", n>>20) }

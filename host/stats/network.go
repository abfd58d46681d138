package stats

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// network is what went through the node's interfaces, first the one by which it
// reaches the world.
func (c *Collector) network(context.Context) (func(*statsapi.Summary), error) {
	table, err := c.read("net/dev")
	if err != nil {
		return nil, err
	}
	routes, err := c.read("net/route")
	if err != nil {
		return nil, err
	}
	network := &statsapi.NetworkStats{Time: at(time.Now())}
	way := defaultInterface(routes)
	for line := range strings.Lines(table) {
		name, counts, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "lo" || strings.HasPrefix(name, "veth") { // pods' ends of it are the pods'
			continue
		}
		one, err := interfaceCounts(name, strings.Fields(counts))
		if err != nil {
			return nil, err
		}
		network.Interfaces = append(network.Interfaces, one)
		if name == way {
			network.InterfaceStats = one
		}
	}
	return func(s *statsapi.Summary) { s.Node.Network = network }, nil
}

// interfaceCounts reads a line of /proc/net/dev: bytes and errors are the first and
// the third of eight counts each way.
func interfaceCounts(name string, counts []string) (statsapi.InterfaceStats, error) {
	one := statsapi.InterfaceStats{Name: name}
	if len(counts) < 11 {
		return one, fmt.Errorf("read the counts of interface %s: %q makes no sense", name, counts)
	}
	for i, to := range map[int]**uint64{0: &one.RxBytes, 2: &one.RxErrors, 8: &one.TxBytes, 10: &one.TxErrors} {
		count, err := strconv.ParseUint(counts[i], 10, 64)
		if err != nil {
			return one, fmt.Errorf("read the counts of interface %s: %w", name, err)
		}
		*to = &count
	}
	return one, nil
}

// defaultInterface is where packets to everywhere go; empty where nowhere.
func defaultInterface(routes string) string {
	for line := range strings.Lines(routes) {
		if fields := strings.Fields(line); len(fields) > 7 && fields[1] == "00000000" && fields[7] == "00000000" {
			return fields[0]
		}
	}
	return ""
}

package stats

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/cadvisor/lib/model"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// network reads the counters of the node's interfaces. The interface of the default
// route comes first.
func (c *Collector) network(context.Context) (func(*collection), error) {
	table, err := c.read("net/dev")
	if err != nil {
		return nil, err
	}
	routes, err := c.read("net/route")
	if err != nil {
		return nil, err
	}
	interfaces := interfacesOf(table)
	network := networkStats(interfaces, defaultInterface(routes))
	return func(s *collection) { s.Node.Network, s.interfaces = network, interfaces }, nil
}

// interfacesOf reads /proc/net/dev, which has eight counts each way. It leaves out the node's ends of pods'
// interfaces: they count for the pods.
func interfacesOf(table string) []model.InterfaceStats {
	var found []model.InterfaceStats
	for line := range strings.Lines(table) {
		name, counts, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		fields := strings.Fields(counts)
		if !ok || name == "lo" || strings.HasPrefix(name, "veth") || len(fields) < 12 {
			continue
		}
		i := model.InterfaceStats{Name: name}
		for field, to := range []*uint64{
			&i.RxBytes, &i.RxPackets, &i.RxErrors, &i.RxDropped, 8: &i.TxBytes, &i.TxPackets, &i.TxErrors, &i.TxDropped,
		} {
			if to != nil {
				*to, _ = strconv.ParseUint(fields[field], 10, 64) // the kernel writes numbers
			}
		}
		found = append(found, i)
	}
	return found
}

// networkStats translates interfaces into the kubelet's terms. way names the default one.
func networkStats(interfaces []model.InterfaceStats, way string) *statsapi.NetworkStats {
	network := &statsapi.NetworkStats{Time: at(time.Now())}
	for _, i := range interfaces {
		one := statsapi.InterfaceStats{Name: i.Name, RxBytes: &i.RxBytes, RxErrors: &i.RxErrors, TxBytes: &i.TxBytes, TxErrors: &i.TxErrors}
		network.Interfaces = append(network.Interfaces, one)
		if i.Name == way {
			network.InterfaceStats = one
		}
	}
	return network
}

// defaultInterface returns the interface of the default route, or "" if there is none.
func defaultInterface(routes string) string {
	for line := range strings.Lines(routes) {
		if fields := strings.Fields(line); len(fields) > 7 && fields[1] == "00000000" && fields[7] == "00000000" {
			return fields[0]
		}
	}
	return ""
}

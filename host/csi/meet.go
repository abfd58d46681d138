package csi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"

	"nodal/node"
)

// meetDeadline bounds the questions to a driver that registers.
const meetDeadline = 15 * time.Second

// Bounds of what a driver says of itself.
const (
	mostName     = 256 // of a node, as CSI has it
	mostTopology = 64
)

// Meet asks the driver behind a plugin for its name, what it can do and how it knows this node.
func Meet(ctx context.Context, plugin node.PluginInfo) (*node.CSIDriver, error) {
	driver, err := meet(ctx, plugin)
	if err != nil {
		return nil, fmt.Errorf("meet the CSI driver %s at %.300s: %w", plugin.Name, plugin.Endpoint, err)
	}
	return driver, nil
}

func meet(ctx context.Context, plugin node.PluginInfo) (*node.CSIDriver, error) {
	if !slices.ContainsFunc(plugin.Versions, func(v string) bool { return strings.HasPrefix(strings.TrimPrefix(v, "v"), "1.") }) {
		return nil, fmt.Errorf("none of its versions %q is supported, which have to begin with 1", plugin.Versions)
	}
	ctx, cancel := context.WithTimeout(ctx, meetDeadline)
	defer cancel()
	l, err := dial(plugin.Endpoint)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	info, err := l.identity.GetPluginInfo(ctx, &csiapi.GetPluginInfoRequest{})
	if err != nil {
		return nil, fmt.Errorf("GetPluginInfo: %w", said(err))
	}
	if info.GetName() != plugin.Name {
		return nil, fmt.Errorf("it says that its name is %.300q", info.GetName())
	}
	able, err := l.node.NodeGetCapabilities(ctx, &csiapi.NodeGetCapabilitiesRequest{})
	if err != nil {
		return nil, fmt.Errorf("NodeGetCapabilities: %w", said(err))
	}
	here, err := l.node.NodeGetInfo(ctx, &csiapi.NodeGetInfoRequest{})
	if err != nil {
		return nil, fmt.Errorf("NodeGetInfo: %w", said(err))
	}
	driver := &node.CSIDriver{
		Version: info.GetVendorVersion(), Node: here.GetNodeId(), MostVolumes: here.GetMaxVolumesPerNode(),
		Topology: here.GetAccessibleTopology().GetSegments(), Capabilities: capabilities(able),
	}
	return driver, check(driver)
}

// capabilities returns the names of what a driver can do. It leaves out those that CSI does not know.
func capabilities(said *csiapi.NodeGetCapabilitiesResponse) (all []string) {
	for _, c := range said.GetCapabilities() {
		kind := c.GetRpc().GetType()
		if name, known := csiapi.NodeServiceCapability_RPC_Type_name[int32(kind)]; known && kind != 0 {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// check refuses what no driver says.
func check(d *node.CSIDriver) error {
	switch {
	case d.Node == "":
		return errors.New("it says no name for this node")
	case len(d.Node) > mostName || len(d.Version) > mostName:
		return fmt.Errorf("its version or its name for this node has more than %d bytes", mostName)
	case d.MostVolumes < 0:
		return fmt.Errorf("it can have %d volumes", d.MostVolumes)
	case len(d.Topology) > mostTopology:
		return fmt.Errorf("it says where the node is in more than %d words", mostTopology)
	}
	for key, value := range d.Topology {
		if len(key) > mostName || len(value) > mostName {
			return fmt.Errorf("where the node is has more than %d bytes", mostName)
		}
	}
	return nil
}

// Command nodal is the CNI plugin that connects the node's pods: a pair of
// interfaces from the pod to the bridge, an address, routes, and host ports if
// the pod has any. It does in one process what the plugins bridge, host-local
// and portmap do in three, in the same order and by the same libraries, and
// keeps addresses in host-local's files. So pods that those have connected are
// disconnected by this one, and the other way round. portmap itself is run for
// pods with host ports.
//
// It knows the settings that host/podnet writes, and no others.
//
// Start reading at add in add.go; delete.go undoes it.
package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"
	"github.com/containernetworking/plugins/plugins/ipam/host-local/backend/allocator"
)

func main() {
	runtime.LockOSThread() // it enters the pods' network namespaces
	skel.PluginMainFuncs(skel.CNIFuncs{Add: add, Del: remove, Check: check}, version.All, "nodal")
}

// settings are those of the network, and what the runtime says of the pod.
type settings struct {
	types.NetConf
	Bridge  string `json:"bridge"`
	MTU     int    `json:"mtu"`
	Backend string `json:"backend"`
	Runtime struct {
		Ports json.RawMessage `json:"portMappings"`
	} `json:"runtimeConfig"`

	addresses *allocator.IPAMConfig
}

func readSettings(args *skel.CmdArgs) (*settings, error) {
	s := &settings{}
	if err := json.Unmarshal(args.StdinData, s); err != nil {
		return nil, fmt.Errorf("read the network's settings: %w", err)
	}
	var err error
	if s.addresses, _, err = allocator.LoadIPAMConfig(args.StdinData, args.Args); err != nil {
		return nil, fmt.Errorf("read the network's settings: %w", err)
	}
	return s, nil
}

// hasPorts reports whether the pod has host ports.
func (s *settings) hasPorts() bool {
	var ports []json.RawMessage
	return json.Unmarshal(s.Runtime.Ports, &ports) == nil && len(ports) > 0
}

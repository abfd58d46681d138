package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/ip"
	"github.com/containernetworking/plugins/pkg/ipam"
	"github.com/containernetworking/plugins/pkg/netlinksafe"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/containernetworking/plugins/pkg/utils/sysctl"
	"github.com/vishvananda/netlink"
)

// podEnd is the place of the pod's interface in a result; the bridge and the
// host's end come first.
const podEnd = 2

// add connects a pod. What a failure leaves is removed by the delete that
// follows it, but an address is given back at once.
func add(args *skel.CmdArgs) (err error) {
	s, err := readSettings(args)
	if err != nil {
		return err
	}
	bridge, err := theBridge(s)
	if err != nil {
		return err
	}
	pod, err := ns.GetNS(args.Netns)
	if err != nil {
		return fmt.Errorf("open the pod's network namespace %q: %w", args.Netns, err)
	}
	defer pod.Close()
	result, err := connect(s, bridge, pod, args.IfName)
	if err != nil {
		return err
	}
	if err := takeAddresses(s, args, result); err != nil {
		return err
	}
	opening := false // as long as the pod may have ports, it keeps its addresses: they say whose the ports are
	defer func() {
		if err != nil && !opening {
			err = errors.Join(err, giveBack(s, args))
		}
	}()
	if err := configure(bridge, pod, args.IfName, result); err != nil {
		return err
	}
	if err := describe(s, result); err != nil {
		return err
	}
	if s.hasPorts() {
		opening = true
		if err := openPorts(s, result); err != nil {
			return err
		}
	}
	return types.PrintResult(result, s.CNIVersion)
}

// theBridge returns the bridge, which the first pod makes.
func theBridge(s *settings) (*netlink.Bridge, error) {
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MTU = s.Bridge, s.MTU
	if _, err := netlinksafe.LinkByName(s.Bridge); err != nil {
		made := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attributes})
		if made != nil && !errors.Is(made, os.ErrExist) {
			return nil, fmt.Errorf("make bridge %s: %w", s.Bridge, made)
		}
	}
	link, err := netlinksafe.LinkByName(s.Bridge)
	if err != nil {
		return nil, fmt.Errorf("look up bridge %s: %w", s.Bridge, err)
	}
	bridge, ok := link.(*netlink.Bridge)
	if !ok {
		return nil, fmt.Errorf("interface %s is not a bridge", s.Bridge)
	}
	_, _ = sysctl.Sysctl("net/ipv6/conf/"+s.Bridge+"/accept_ra", "0") // there may be no IPv6
	if err := netlink.LinkSetUp(bridge); err != nil {
		return nil, fmt.Errorf("set bridge %s up: %w", s.Bridge, err)
	}
	return bridge, nil
}

// connect makes the pair of interfaces, one of them a port of the bridge.
func connect(s *settings, bridge *netlink.Bridge, pod ns.NetNS, name string) (*current.Result, error) {
	var hosts, pods net.Interface
	err := pod.Do(func(host ns.NetNS) (err error) {
		hosts, pods, err = ip.SetupVeth(name, s.MTU, "", host)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make the pod's interface: %w", err)
	}
	link, err := netlinksafe.LinkByName(hosts.Name)
	if err != nil {
		return nil, fmt.Errorf("look up the host's end %s: %w", hosts.Name, err)
	}
	if err := netlink.LinkSetMaster(link, bridge); err != nil {
		return nil, fmt.Errorf("connect %s to the bridge: %w", hosts.Name, err)
	}
	// A pod may reach itself by its host port.
	if err := netlink.LinkSetHairpin(link, true); err != nil {
		return nil, fmt.Errorf("let packets return to %s: %w", hosts.Name, err)
	}
	return &current.Result{CNIVersion: current.ImplementedSpecVersion, Interfaces: []*current.Interface{
		{Name: s.Bridge},
		{Name: hosts.Name},
		{Name: pods.Name, Mac: pods.HardwareAddr.String(), Sandbox: pod.Path()},
	}}, nil
}

// configure gives the pod's interface its addresses and routes, and the bridge
// those of the gateways.
func configure(bridge *netlink.Bridge, pod ns.NetNS, name string, result *current.Result) error {
	err := pod.Do(func(ns.NetNS) error {
		// The address is the pod's alone, so nothing is gained by asking others before it is used.
		_, _ = sysctl.Sysctl("net/ipv6/conf/"+name+"/accept_dad", "0")
		_, _ = sysctl.Sysctl("net/ipv4/conf/"+name+"/arp_notify", "1")
		return ipam.ConfigureIface(name, result)
	})
	if err != nil {
		return fmt.Errorf("give the pod its addresses: %w", err)
	}
	for _, a := range result.IPs {
		if err := beGateway(bridge, net.IPNet{IP: a.Gateway, Mask: a.Address.Mask}); err != nil {
			return err
		}
	}
	return ip.EnableForward(result.IPs)
}

// beGateway gives the bridge an address, once.
func beGateway(bridge *netlink.Bridge, gateway net.IPNet) error {
	family := netlink.FAMILY_V6
	if gateway.IP.To4() != nil {
		family = netlink.FAMILY_V4
	}
	addresses, err := netlinksafe.AddrList(bridge, family)
	if err != nil {
		return fmt.Errorf("list the addresses of the bridge: %w", err)
	}
	for _, a := range addresses {
		if a.IPNet.String() == gateway.String() {
			return nil
		}
		if family == netlink.FAMILY_V4 || a.Contains(gateway.IP) || gateway.Contains(a.IP) {
			return fmt.Errorf("bridge %s has address %s, not %s", bridge.Name, a.IPNet, gateway.String())
		}
	}
	if err := netlink.AddrAdd(bridge, &netlink.Addr{IPNet: &gateway}); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("give the bridge address %s: %w", gateway.String(), err)
	}
	// A bridge whose hardware address was never set takes the lowest of its ports.
	if err := netlink.LinkSetHardwareAddr(bridge, bridge.HardwareAddr); err != nil {
		return fmt.Errorf("keep the bridge's hardware address: %w", err)
	}
	return nil
}

// rests are the pauses between looks at the state of a port of the bridge.
var rests = []time.Duration{0, 5 * time.Millisecond, 50 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Second}

// describe waits until the host's end works, and adds the hardware addresses,
// which may have changed, to the result.
func describe(s *settings, result *current.Result) error {
	for _, rest := range rests {
		time.Sleep(rest)
		host, err := netlinksafe.LinkByName(result.Interfaces[1].Name)
		if err != nil {
			return fmt.Errorf("look at the host's end: %w", err)
		}
		if host.Attrs().OperState != netlink.OperUp {
			continue
		}
		result.Interfaces[1].Mac = host.Attrs().HardwareAddr.String()
		bridge, err := netlinksafe.LinkByName(s.Bridge)
		if err != nil {
			return fmt.Errorf("look at the bridge: %w", err)
		}
		result.Interfaces[0].Mac = bridge.Attrs().HardwareAddr.String()
		return nil
	}
	return fmt.Errorf("the bridge's port %s does not come up", result.Interfaces[1].Name)
}

package rig

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
)

const (
	dirPrefix = "/var/lib/nodal-rig-"
	maxSlots  = 64
)

// slot is the number that names everything one rig owns on this machine.
type slot int

func (s slot) dir() string    { return dirPrefix + strconv.Itoa(int(s)) }
func (s slot) bridge() string { return fmt.Sprintf("nrig%d", s) }
func (s slot) subnet() string { return fmt.Sprintf("10.88.%d.0/24", s) }
func (s slot) lock() string   { return fmt.Sprintf("@nodal-rig-%d", s) }

// DriverEnv names a variable: with the value "systemd", systemd makes the cgroups instead of the
// runtime.
const DriverEnv = "NODAL_CGROUP_DRIVER"

func systemdCgroups() bool { return os.Getenv(DriverEnv) == "systemd" }

// cgroup returns the parent of all pods' cgroups. It has no dash where systemd makes cgroups: each
// dash in a slice's name is a level of the tree.
func (s slot) cgroup() string {
	if systemdCgroups() {
		return fmt.Sprintf("nodalrig%d.slice", s)
	}
	return fmt.Sprintf("/nodal-rig-%d", s)
}

// claim takes the first free slot. The returned listener holds it. The kernel closes the listener
// with this process, so a crash blocks no slot.
func claim() (slot, net.Listener, error) {
	for s := range slot(maxSlots) {
		l, err := net.Listen("unix", s.lock())
		if err != nil {
			continue
		}
		if foreignSubnet(s) {
			l.Close()
			continue
		}
		return s, l, nil
	}
	return 0, nil, errors.New("claim a rig: every slot is taken")
}

// claimed reports whether a living process holds the slot.
func (s slot) claimed() bool {
	l, err := net.Listen("unix", s.lock())
	if err != nil {
		return true
	}
	l.Close()
	return false
}

// foreignSubnet reports whether an interface other than our own bridge has an address in the slot's
// subnet.
func foreignSubnet(s slot) bool {
	_, subnet, err := net.ParseCIDR(s.subnet())
	if err != nil {
		return true
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return true
	}
	for _, i := range interfaces {
		addrs, err := i.Addrs()
		if err != nil || slices.Contains(s.bridges(), i.Name) {
			continue
		}
		for _, a := range addrs {
			if ip, ok := a.(*net.IPNet); ok && subnet.Contains(ip.IP) {
				return true
			}
		}
	}
	return false
}

// leftover reports whether a dead run has left something in the slot.
func (s slot) leftover() bool {
	_, err := os.Stat(s.dir())
	return err == nil || len(remains(s)) > 0
}

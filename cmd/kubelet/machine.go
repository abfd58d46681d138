package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nodal/agent/cgroups"
	"nodal/agent/membership"
	"nodal/agent/tracing"
	"nodal/host/cgroup"
	"nodal/host/notify"
	"nodal/host/tunable"
)

// machine is what the node is made of, as far as pods and readers are told.
type machine struct {
	kernel, os, arch string
	booted           time.Time
	ips              []string
	ids              identifiers
	cgroups          cgroup.Mounts
	swaps            bool     // it has swap, as of the start
	hugePages        []string // their sizes, as the kernel's cgroups have them
	throttles        []string // of the processors, in /sys
}

// lookAround finds out where the node is: in which cluster, on what machine, and
// what of it is for pods.
func (a *agent) lookAround(ctx context.Context) (err error) {
	if a.supervisor, err = notify.FromEnvironment(); err != nil {
		return err
	}
	if a.machine, err = lookAtMachine(a.cfg.NodeIPs); err != nil {
		return err
	}
	if a.cfg.Cluster.Kubeconfig != "" {
		if a.cluster, err = a.membership(); err != nil {
			return err
		}
	}
	if err := tune(tunable.Proc, a.cfg.Tunables, a.log); err != nil {
		return err
	}
	if a.tracing, err = tracing.New(a.cfg.Tracing, a.cfg.NodeName, version, a.log); err != nil {
		return err
	}
	if a.machine.cgroups, err = cgroups.Find(a.cfg.Cgroups, a.machine.swaps, a.log); err != nil {
		return err
	}
	if err := a.makeOffer(); err != nil {
		return err
	}
	return holdReserved(ctx, a.cfg.Reserved, a.machine.cgroups)
}

// membership makes the node a member of the cluster that is configured.
func (a *agent) membership() (*membership.Membership, error) {
	return membership.New(membership.Config{
		NodeName: a.cfg.NodeName, Labels: a.cfg.NodeLabels, Addresses: a.machine.ips, Port: a.cfg.Listen.Port,
		CertDir: a.cfg.Dirs.Cert, Cluster: a.cfg.Cluster, Auth: a.cfg.Auth, Version: version, Log: a.log,
	})
}

func lookAtMachine(configured []netip.Addr) (m machine, err error) {
	m = machine{arch: goruntime.GOARCH, os: osImage("/etc/os-release")}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return m, fmt.Errorf("ask for the kernel's version: %w", err)
	}
	m.kernel = unix.ByteSliceToString(name.Release[:])
	info, err := sysinfo()
	if err != nil {
		return m, err
	}
	m.ids, m.swaps = identify(), info.Totalswap > 0
	m.booted = time.Now().Add(-time.Duration(info.Uptime) * time.Second)
	for _, pages := range lookAtHugePages(hugePagesDir) {
		m.hugePages = append(m.hugePages, inKernel(pages))
	}
	if m.throttles, err = filepath.Glob("/sys/devices/system/cpu/cpu*/thermal_throttle"); err != nil {
		return m, fmt.Errorf("look for the processors' heat: %w", err)
	}
	for _, ip := range configured {
		m.ips = append(m.ips, ip.String())
	}
	if len(m.ips) == 0 {
		m.ips = ownAddresses()
	}
	return m, nil
}

func sysinfo() (info unix.Sysinfo_t, err error) {
	if err := unix.Sysinfo(&info); err != nil {
		return info, fmt.Errorf("ask for the machine's memory: %w", err)
	}
	return info, nil
}

// mostProcesses is the lesser of the kernel's bounds on tasks; zero if it does not
// say.
func mostProcesses() int64 {
	var most int64
	for _, name := range []string{"pid_max", "threads-max"} {
		text, err := os.ReadFile("/proc/sys/kernel/" + name)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && (most == 0 || n < most) {
			most = n
		}
	}
	return most
}

// identifiers tell this machine from others; each is empty where nobody knows it.
type identifiers struct{ machine, boot, system string }

func identify() identifiers {
	first := func(paths ...string) string {
		for _, path := range paths {
			if text, err := os.ReadFile(path); err == nil {
				return strings.TrimSpace(string(text))
			}
		}
		return ""
	}
	return identifiers{
		machine: first("/etc/machine-id", "/var/lib/dbus/machine-id"),
		boot:    first("/proc/sys/kernel/random/boot_id"),
		system:  first("/sys/class/dmi/id/product_uuid", "/proc/device-tree/vm,uuid", "/etc/machine-id"),
	}
}

// ownAddresses are the first global address of each family. Nothing is asked
// of DNS: a name that does not resolve would hold up every pod.
func ownAddresses() []string {
	var v4, v6 string
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			prefix, err := netip.ParsePrefix(a.String())
			if err != nil || !prefix.Addr().IsGlobalUnicast() {
				continue
			}
			if prefix.Addr().Is4() && v4 == "" {
				v4 = prefix.Addr().String()
			}
			if prefix.Addr().Is6() && v6 == "" {
				v6 = prefix.Addr().String()
			}
		}
	}
	var found []string
	for _, ip := range []string{v4, v6} {
		if ip != "" {
			found = append(found, ip)
		}
	}
	if len(found) == 0 {
		return []string{"127.0.0.1"} // a machine without a network still runs pods
	}
	return found
}

func osImage(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "PRETTY_NAME="); ok {
			return strings.Trim(name, `"`)
		}
	}
	return "unknown"
}

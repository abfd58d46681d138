package cgroup

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/godbus/dbus/v5"

	"nodal/node/limit"
)

// systemd calls the owner of the tree. systemd may reset a slice at any time if it does not know it or its limits.
type systemd struct {
	version int
	address string
}

// systemdSocket is open to root alone, and exists without a bus.
const systemdSocket = "/run/systemd/private"

func newSystemd(version int) *systemd {
	return &systemd{version: version, address: "unix:path=" + systemdSocket}
}

type (
	property struct {
		Name  string
		Value dbus.Variant
	}
	auxiliary struct {
		Name       string
		Properties []property
	}
)

const (
	errUnitExists = "org.freedesktop.systemd1.UnitExists"
	errNoSuchUnit = "org.freedesktop.systemd1.NoSuchUnit"
)

// start makes a slice with limits, or changes those of an existing one. It may return before the slice is there. The
// caller need not wait: systemd takes over a cgroup that was made meanwhile.
func (s *systemd) start(ctx context.Context, slice string, l limit.Limits) error {
	whole := append([]property{
		{"Description", dbus.MakeVariant("pods of a node: " + slice)},
		{"DefaultDependencies", dbus.MakeVariant(false)},
		{"CPUAccounting", dbus.MakeVariant(true)},
		{"MemoryAccounting", dbus.MakeVariant(true)},
		{"TasksAccounting", dbus.MakeVariant(true)},
	}, s.properties(l)...)
	err := s.call(ctx, "StartTransientUnit", slice, "replace", whole, []auxiliary{})
	if isError(err, errUnitExists) {
		err = s.call(ctx, "SetUnitProperties", slice, true, s.properties(l))
	}
	if err != nil {
		return fmt.Errorf("have systemd make %s: %w", slice, err)
	}
	return nil
}

// hold sets the limits of a unit that belongs to another program. Settings that the limits leave open stay as they are.
func (s *systemd) hold(ctx context.Context, unit string, l limit.Limits) error {
	var given []property
	if l.CPUShares > 0 {
		given = append(given, s.cpu(l))
	}
	if l.Memory > 0 {
		given = append(given, s.memory(l))
	}
	if l.MemoryMin > 0 && s.version == 2 {
		given = append(given, property{"MemoryMin", dbus.MakeVariant(uint64(l.MemoryMin))})
	}
	if l.Pids > 0 {
		given = append(given, tasks(l))
	}
	if err := s.call(ctx, "SetUnitProperties", unit, true, given); err != nil {
		return fmt.Errorf("have systemd hold %s to what is reserved for it: %w", unit, err)
	}
	return nil
}

func (s *systemd) stop(ctx context.Context, slice string) error {
	if err := s.call(ctx, "StopUnit", slice, "replace"); err != nil && !isError(err, errNoSuchUnit) {
		return fmt.Errorf("have systemd remove %s: %w", slice, err)
	}
	return nil
}

// properties translates limits into systemd's properties.
func (s *systemd) properties(l limit.Limits) []property {
	all := []property{
		s.cpu(l),
		{"CPUQuotaPerSecUSec", boundless(perSecond(l))},
		{"CPUQuotaPeriodUSec", dbus.MakeVariant(uint64(period(l)))},
		s.memory(l),
		tasks(l),
	}
	if s.version == 2 {
		all = append(all, guard(l)...)
	}
	return all
}

// guard returns what is kept of a slice's memory, and from where on it is slowed down.
func guard(l limit.Limits) []property {
	return []property{
		{"MemoryMin", dbus.MakeVariant(uint64(l.MemoryMin))},
		{"MemoryLow", dbus.MakeVariant(uint64(l.MemoryLow))},
		{"MemoryHigh", boundless(l.MemoryHigh)},
	}
}

func (s *systemd) cpu(l limit.Limits) property {
	if s.version == 2 {
		return property{"CPUWeight", dbus.MakeVariant(uint64(weight(l.CPUShares)))}
	}
	return property{"CPUShares", dbus.MakeVariant(uint64(l.CPUShares))}
}

func (s *systemd) memory(l limit.Limits) property {
	if s.version == 2 {
		return property{"MemoryMax", boundless(l.Memory)}
	}
	return property{"MemoryLimit", boundless(l.Memory)}
}

func tasks(l limit.Limits) property { return property{"TasksMax", boundless(l.Pids)} }

func boundless(n int64) dbus.Variant {
	if n == 0 {
		return dbus.MakeVariant(uint64(math.MaxUint64))
	}
	return dbus.MakeVariant(uint64(n))
}

// perSecond returns a quota as systemd counts it, in steps of 10 ms.
func perSecond(l limit.Limits) int64 {
	const second, step = 1_000_000, 10_000
	if l.CPUQuota == 0 {
		return 0
	}
	return (l.CPUQuota*second/period(l) + step - 1) / step * step
}

// call makes one call to systemd over a connection of its own. Calls are rare, and so no connection has to survive
// systemd's restarts.
func (s *systemd) call(ctx context.Context, method string, args ...any) error {
	conn, err := dbus.Dial(s.address, dbus.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("reach systemd: %w", err)
	}
	defer conn.Close()
	if err := conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Getuid()))}); err != nil {
		return fmt.Errorf("reach systemd: %w", err)
	}
	manager := conn.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1")
	return manager.CallWithContext(ctx, "org.freedesktop.systemd1.Manager."+method, 0, args...).Err
}

func isError(err error, name string) bool {
	var failure dbus.Error
	return errors.As(err, &failure) && failure.Name == name
}

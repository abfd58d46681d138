package address

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

// DefaultLink4 returns the interface by which the default route with the least metric leaves, from the text of
// /proc/net/route; empty without one.
func DefaultLink4(table string) string { return leastMetric(table, defaultRoute4) }

// DefaultLink6 returns the same from the text of /proc/net/ipv6_route.
func DefaultLink6(table string) string { return leastMetric(table, defaultRoute6) }

// leastMetric returns the interface of the best of the lines that are default routes.
func leastMetric(table string, read func(fields []string) (name string, metric uint64, ok bool)) string {
	best, least := "", uint64(math.MaxUint64)
	for line := range strings.Lines(table) {
		if name, metric, ok := read(strings.Fields(line)); ok && metric < least {
			best, least = name, metric
		}
	}
	return best
}

// Flags of routes, from the kernel's route.h.
const (
	routeUp     = 0x1
	routeReject = 0x200
)

// defaultRoute4 reads a line of /proc/net/route: Iface, Destination, Gateway, Flags, RefCnt, Use, Metric, Mask.
func defaultRoute4(fields []string) (name string, metric uint64, ok bool) {
	if len(fields) < 8 || fields[1] != "00000000" || fields[7] != "00000000" {
		return "", 0, false
	}
	metric, err := strconv.ParseUint(fields[6], 10, 32)
	return fields[0], metric, err == nil && goesOut(fields[3])
}

// defaultRoute6 reads a line of /proc/net/ipv6_route: destination and its length, source and its length, next hop, metric,
// reference count, use, flags, interface. All numbers are hexadecimal.
func defaultRoute6(fields []string) (name string, metric uint64, ok bool) {
	if len(fields) < 10 || !isZero(fields[0]) || fields[1] != "00" || fields[9] == "lo" {
		return "", 0, false
	}
	metric, err := strconv.ParseUint(fields[5], 16, 32)
	return fields[9], metric, err == nil && goesOut(fields[8])
}

func goesOut(flags string) bool {
	bits, err := strconv.ParseUint(flags, 16, 32)
	return err == nil && bits&routeUp != 0 && bits&routeReject == 0
}

func isZero(text string) bool {
	bytes, err := hex.DecodeString(text)
	for _, b := range bytes {
		if b != 0 {
			return false
		}
	}
	return err == nil
}

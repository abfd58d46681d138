package main

import (
	"fmt"
	"slices"
	"time"
)

// The columns of the table.
const (
	rawColumn   = "raw"
	nodalColumn = "nodal"
	peerColumn  = "peer"
)

// The verdicts on an aim.
const (
	verdictMet     = "met"
	verdictMissed  = "MISSED"
	verdictUnknown = "not measured"
)

// row is one line of the table.
type row struct {
	what   string
	unit   string
	values map[string]float64 // by column, without those that were not measured
	aim    aim
}

// aim is the goal for nodal's value. Without a limit there is no goal.
type aim struct {
	text    string
	limit   func(values map[string]float64) (limit float64, known bool)
	atLeast bool // the value must be at least the limit, not at most
}

// verdict returns the verdict on the aim, or "" without an aim or without the values to compare.
func (r *row) verdict() string {
	if r.aim.limit == nil {
		return ""
	}
	limit, known := r.aim.limit(r.values)
	got, measured := r.values[nodalColumn]
	switch {
	case !known || !measured:
		return verdictUnknown
	case got == limit, got < limit != r.aim.atLeast:
		return verdictMet
	}
	return verdictMissed
}

func fixed(limit float64) func(map[string]float64) (float64, bool) {
	return func(map[string]float64) (float64, bool) { return limit, true }
}

// times returns a limit in proportion to another column.
func times(factor float64, column string) func(map[string]float64) (float64, bool) {
	return func(values map[string]float64) (float64, bool) {
		other, known := values[column]
		return other * factor, known
	}
}

func atMost(limit float64, unit string) aim {
	return aim{text: fmt.Sprintf("<= %g %s", limit, unit), limit: fixed(limit)}
}

func atLeast(limit float64, unit string) aim {
	return aim{text: fmt.Sprintf(">= %g %s", limit, unit), limit: fixed(limit), atLeast: true}
}

func timesRaw(factor float64) aim {
	return aim{text: fmt.Sprintf("<= %.2f x raw", factor), limit: times(factor, rawColumn)}
}

func timesPeer(factor float64) aim {
	return aim{text: fmt.Sprintf("<= %g x peer", factor), limit: times(factor, peerColumn)}
}

// overRaw allows so many milliseconds more than raw takes.
func overRaw(ms float64) aim { return moreThanRaw(ms, "ms") }

func moreThanRaw(amount float64, unit string) aim {
	return aim{text: fmt.Sprintf("<= raw + %g %s", amount, unit), limit: func(values map[string]float64) (float64, bool) {
		raw, known := values[rawColumn]
		return raw + amount, known
	}}
}

// samples are durations by column.
type samples map[string][]time.Duration

func (s samples) add(column string, d time.Duration) { s[column] = append(s[column], d) }

// p50 returns the median of each column in milliseconds.
func (s samples) p50() map[string]float64 { return s.each(median) }

// p99 returns the 99th percentile: for fewer than a hundred samples, the slowest.
func (s samples) p99() map[string]float64 {
	return s.each(func(all []time.Duration) time.Duration {
		sorted := slices.Sorted(slices.Values(all))
		return sorted[len(sorted)*99/100]
	})
}

func (s samples) each(one func([]time.Duration) time.Duration) map[string]float64 {
	values := map[string]float64{}
	for column, all := range s {
		values[column] = milliseconds(one(all))
	}
	return values
}

// median returns the median, the upper one of an even number.
func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

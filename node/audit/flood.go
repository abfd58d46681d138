package audit

import (
	"maps"
	"slices"
	"time"
)

const (
	floodEach   = 5   // entries for one address or identity in a window
	floodAll    = 100 // for all of them
	floodKeys   = 100 // that are counted one by one
	floodOthers = "others"

	// FloodWindow is the time for which refused requests are counted together.
	FloodWindow = time.Minute
)

// Flood bounds the entries of refused requests. Without it, callers that may do nothing could fill the log and push
// the entries of others out of it. The zero value is ready.
type Flood struct {
	began   time.Time
	written int
	counts  map[string]*flooded
}

type flooded struct{ written, left int64 }

// Take reports whether a refused request of an address or identity gets an entry. Otherwise the request is counted.
func (f *Flood) Take(key string, now time.Time) bool {
	if f.counts == nil || now.Sub(f.began) >= FloodWindow && !f.Owes() {
		*f = Flood{began: now, counts: map[string]*flooded{}}
	}
	if _, known := f.counts[key]; !known && len(f.counts) >= floodKeys {
		key = floodOthers
	}
	one := f.counts[key]
	if one == nil {
		one = &flooded{}
		f.counts[key] = one
	}
	if one.written >= floodEach || f.written >= floodAll {
		one.left++
		return false
	}
	one.written++
	f.written++
	return true
}

// Owes reports whether there are requests without an entry.
func (f *Flood) Owes() bool {
	for _, one := range f.counts {
		if one.left > 0 {
			return true
		}
	}
	return false
}

// Uncounted is the number of refused requests of one address or identity that got no entry.
type Uncounted struct {
	Key   string
	Count int64
}

// Drain returns the numbers of requests without an entry, and begins to count again.
func (f *Flood) Drain() (all []Uncounted) {
	for _, key := range slices.Sorted(maps.Keys(f.counts)) {
		if left := f.counts[key].left; left > 0 {
			all = append(all, Uncounted{key, left})
		}
	}
	*f = Flood{}
	return all
}

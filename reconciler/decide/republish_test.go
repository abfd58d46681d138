package decide

import (
	"testing"
	"time"

	"nodal/node"
)

func TestAVolumeIsPublishedAgainInTime(t *testing.T) {
	later := map[string]node.Fault{"publication": {Reason: "FailedMount", Retry: ago(-5)}}
	for _, c := range []struct {
		name   string
		look   time.Time
		faults map[string]node.Fault
		want   string
	}{
		{"its pod does not have it", time.Time{}, nil, ""},
		{"a while ago", ago(20), nil, "wake in 40s"},
		{"long ago", ago(60), nil, "publish volume v again"},
		{"and that has failed", ago(70), later, "wake in 5s; why FailedMount"},
		{"in the future: the clock was set back", ago(-20), nil, "publish volume v again"},
	} {
		plan := PublishedVolume(Asset[node.PublishedVolume, time.Time]{
			Want: node.PublishedVolume{Name: "v"}, Look: c.look, Faults: c.faults, Now: now,
		})
		if got := plan.told(false); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

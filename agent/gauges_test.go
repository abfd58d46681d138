package agent

import (
	"testing"

	"nodal/agent/cgroups"
	"nodal/host/cgroup"
)

func TestPodsAreMeasuredWhereTheyHaveCgroupsOfTheirOwn(t *testing.T) {
	mounts := cgroup.Mounts{Version: 2}
	if got := counted(mounts, nil, nil); got.Version != 2 || got.Pod != nil {
		t.Errorf("without cgroups of their own: got %+v", got)
	}
	if got := counted(mounts, cgroups.NewPods(cgroups.Config{}), nil); got.Pod == nil {
		t.Error("pods with cgroups of their own are not measured there")
	}
}

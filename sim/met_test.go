package sim

import (
	"fmt"
	"testing"
)

// enough is a number of seeds that meets every situation.
const enough = 10_000

// hasAll fails the test if a situation never occurred that seeds are meant to reach: the agent dies
// around each kind of call, and beside pods in each state.
func (m met) hasAll(t *testing.T) {
	t.Helper()
	wanted := deaths(
		"SetUpCgroup", "TearDownCgroup", "RunSandbox", "InspectSandbox", "StopSandbox", "RemoveSandbox", "EnsureImage", "SetUpVolume",
		"TearDownVolumes", "CreateContainer", "CreateContainer of an init container", "CreateContainer of a sidecar",
		"CreateContainer of an ephemeral container", "StartContainer", "StartContainer of an init container",
		"StartContainer of a sidecar", "StartContainer of an ephemeral container", "InspectContainer", "ResizeContainer",
		"StopContainer", "StopContainer of a sidecar", "StopContainer of an ephemeral container", "RemoveContainer",
		"RunHook postStart", "RunHook preStop", "SetTermination", "StartOver", "ReadyDevices", "PrepareClaims", "UnprepareClaims",
	)
	for _, record := range []string{"SetTally", "SetHealth", "SetResult", "Release"} {
		wanted = append(wanted, fmt.Sprintf("death: %s, before its answer", record))
	}
	wanted = append(wanted,
		"death: beside a pod that is deleted", "death: beside a pod that another one waits for", "death: beside a pod that has to end",
		"death: beside a pod that has ended", "death: beside a pod that waits for the end of others", "death: beside a container that is to restart",
		"cluster: posts a pod", "client: created", "client: unchanged", "client: updated", "client: updated with a restart", "client: replaced",
		"order: a pod starts after another one", "death: beside a pod that waits for those before it",
		"evicted", "preempted", "devices: the plugin is away", "devices: the plugin has granted some", "devices: the plugin has chosen some",
		"claims: the driver is away", "claims: the driver has prepared one", "claims: the driver fails after it has prepared one",
		"claims: the driver has unprepared one", "claims: the driver fails after it has unprepared one",
		"pressure: evicted for memory.available", "pressure: evicted for nodefs.available", "pressure: unused images are removed",
		"probe: Startup true", "probe: Startup false", "probe: Liveness false", "probe: Readiness true", "probe: Readiness false",
	)
	wanted = append(wanted, "death: in the middle of a sweep", "sweep: something stays")
	for _, r := range newSimulation(Options{}).realms {
		wanted = append(wanted, r.situations()...)
	}
	for _, what := range wanted {
		if m[what] == 0 {
			t.Errorf("none of the seeds has met: %s", what)
		}
	}
	t.Logf("the seeds met %v", m)
}

package node

import "testing"

func TestHomeIsWhereThePodLives(t *testing.T) {
	sandbox := func(id string, state SandboxState) Sandbox { return Sandbox{ID: id, UID: "u1", State: state} }
	in := func(id string, state ContainerState) Container {
		return Container{SandboxID: id, UID: "u1", State: state}
	}
	stranger := Sandbox{ID: "s9", UID: "u0", State: SandboxReady}
	for _, c := range []struct {
		name string
		got  Observed
		want string
	}{
		{"nowhere without a sandbox", Observed{}, ""},
		{"nowhere in one that is not ready", Observed{Sandboxes: []Sandbox{sandbox("s1", SandboxNotReady)}}, ""},
		{"nowhere in another pod's", Observed{Sandboxes: []Sandbox{stranger}}, ""},
		{"in the newest", Observed{Sandboxes: []Sandbox{sandbox("s2", SandboxReady), sandbox("s1", SandboxReady)}}, "s2"},
		{"in the newest that is ready", Observed{Sandboxes: []Sandbox{sandbox("s2", SandboxNotReady), sandbox("s1", SandboxReady)}}, "s1"},
		{"in an older one where containers run", Observed{
			Sandboxes:  []Sandbox{sandbox("s2", SandboxReady), sandbox("s1", SandboxReady)},
			Containers: []Container{in("s1", ContainerRunning)},
		}, "s1"},
		{"in an older one where containers may run", Observed{
			Sandboxes:  []Sandbox{sandbox("s2", SandboxReady), sandbox("s1", SandboxReady)},
			Containers: []Container{in("s1", ContainerUnknown)},
		}, "s1"},
		{"not where they have ended", Observed{
			Sandboxes:  []Sandbox{sandbox("s2", SandboxReady), sandbox("s1", SandboxReady)},
			Containers: []Container{in("s1", ContainerExited), in("s1", ContainerCreated)},
		}, "s2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if home := c.got.Home("u1"); home != nil {
				got = home.ID
			}
			if got != c.want {
				t.Errorf("home = %q, want %q", got, c.want)
			}
		})
	}
}

package agent

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/host/cri/spec"
	"nodal/node"
)

func TestAContainerGetsWhatItsPluginsHaveGranted(t *testing.T) {
	pod := &node.Pod{Grants: node.Grants{"app": {
		Env: map[string]string{"B": "2", "A": "1"}, Annotations: map[string]string{"a.example/b": "c"}, CDI: []string{"example.com/gpu=one"},
		Mounts: []node.GrantedMount{{Host: "/opt/driver", Container: "/driver", ReadOnly: true}},
		Nodes:  []node.GrantedNode{{Host: "/dev/null", Container: "/dev/gpu0", Permissions: "rw"}},
	}}}
	got, err := ofDevices(spec.Run{Pod: pod, Container: &corev1.Container{Name: "app"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Env) != 2 || got.Env[0].Key != "A" || string(got.Env[1].Value) != "2" {
		t.Errorf("got the variables %v", got.Env)
	}
	if m := got.Mounts[0]; m.HostPath != "/opt/driver" || m.ContainerPath != "/driver" || !m.Readonly {
		t.Errorf("got the mount %v", m)
	}
	if d := got.Devices[0]; d.HostPath != "/dev/null" || d.ContainerPath != "/dev/gpu0" || d.Permissions != "rw" {
		t.Errorf("got the device %v", d)
	}
	if got.Annotations["a.example/b"] != "c" || len(got.CDIDevices) != 1 || got.CDIDevices[0] != "example.com/gpu=one" {
		t.Errorf("got %v and %v", got.Annotations, got.CDIDevices)
	}
	if other, err := ofDevices(spec.Run{Pod: pod, Container: &corev1.Container{Name: "other"}}); err != nil || len(other.Env)+len(other.Devices) > 0 {
		t.Errorf("another container gets %v, %v", other, err)
	}
}

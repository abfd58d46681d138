package spec

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"sigs.k8s.io/yaml"

	"nodal/node"
	"nodal/node/limit"
	"nodal/node/manifest"
	"nodal/node/users"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// testNode has a setting and a fact of each kind.
var testNode = Node{
	SeccompDefault: true,
	SeccompDir:     "/seccomp",
	Sysctls:        map[string]string{"net.core.somaxconn": "1", "kernel.shmmax": "2", "vm.swappiness": "3"},
	DNS:            DNS{Servers: []string{"10.96.0.10"}, Domain: "cluster.local"},
	Machine: Machine{
		Name: "here", IPs: []string{"192.0.2.1", "2001:db8::1"}, Memory: 8 << 30,
		Allocatable:   quantities("cpu", "4", "memory", "6Gi"),
		HugePageSizes: []string{"2MB", "1GB"},
		Swap:          limit.Swap{Limited: true, Total: 2 << 30}, SwapLimits: true, OOMGroup: true,
		Throttles: []string{"/sys/devices/system/cpu/cpu0/thermal_throttle"},
	},
}

// TestPodsBecomeConfigurations shows what becomes of real manifests: the golden files are for reading as a diff.
func TestPodsBecomeConfigurations(t *testing.T) {
	paths, err := filepath.Glob("testdata/pods/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %d pods, error %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			pod, objects := readPod(t, path)
			got := translated(t, pod, objects)
			golden := filepath.Join("testdata/cri", filepath.Base(path))
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got:\n%s\nwant %s (rewrite with -update):\n%s", got, golden, want)
			}
		})
	}
}

// readPod reads a manifest of a pod and of the objects that it uses.
func readPod(t *testing.T, path string) (*node.Pod, Objects) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := manifest.Decode(data, manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var pod *node.Pod
	objects := map[node.ObjectRef]*node.Object{}
	for _, doc := range docs {
		if doc.Pod == nil {
			objects[doc.Object.Ref()] = doc.Object
			continue
		}
		doc.Pod.UID = types.UID("uid-of-" + doc.Pod.Name)
		pod = &node.Pod{Object: doc.Pod}
		if node.HasOwnUsers(doc.Pod) {
			pod.Users = &users.Range{First: 131072, Count: 65536}
		}
	}
	return pod, func(ref node.ObjectRef) (*node.Object, bool) {
		object, ok := objects[ref]
		return object, ok
	}
}

// translated is the text of a pod's configurations: a document for its sandbox and one for each container.
func translated(t *testing.T, pod *node.Pod, objects Objects) string {
	t.Helper()
	sandbox, notices, err := testNode.Sandbox(Sandbox{
		Pod: pod, Attempt: 1, Logs: "/logs", CgroupParent: "/pods", HostDNS: ParseResolvConf(hostResolvConf),
	})
	var text strings.Builder
	for _, n := range notices {
		text.WriteString("# " + n.Reason + ": " + n.Message + "\n")
	}
	text.WriteString("# sandbox\n" + asText(t, sandbox, err))
	for c := range node.EveryContainer(&pod.Object.Spec) {
		config, err := translatedContainer(pod, c, objects)
		text.WriteString("---\n# container " + c.Name + "\n" + asText(t, config, err))
	}
	return text.String()
}

func translatedContainer(pod *node.Pod, c *corev1.Container, objects Objects) (*runtimeapi.ContainerConfig, error) {
	run, err := testNode.Run(pod, node.CreateContainer{
		Container: c.Name, Attempt: 2, ImageID: "sha256:1", Limits: limit.OfContainer(pod.Object, c, limit.Rules{}),
	})
	if err != nil {
		return nil, err
	}
	run.IPs = []string{"10.0.0.2", "fd00::2"}
	if run.NeedsImageUser() {
		run.ImageUser = &ImageUser{UID: 65532}
	}
	env, err := testNode.Environment(run, objects, nil)
	if err != nil {
		return nil, err
	}
	if run.Container, err = ChooseMounts(run.Container, env, true); err != nil {
		return nil, err
	}
	extras, err := Collect(run, []Contributor{ofVolumes, ofAnnotation})
	if err != nil {
		return nil, err
	}
	return testNode.Container(run, env, extras)
}

// ofVolumes mounts a directory for each volume.
func ofVolumes(run Run) (extras Extras, err error) {
	for _, m := range run.Container.VolumeMounts {
		extras.Mounts = append(extras.Mounts, &runtimeapi.Mount{
			ContainerPath: m.MountPath, HostPath: filepath.Join("/volumes", m.Name, m.SubPath),
			Readonly: m.ReadOnly, RecursiveReadOnly: m.RecursiveReadOnly != nil,
		})
	}
	return extras, nil
}

// ofAnnotation adds one of each kind of extras to an annotated pod.
func ofAnnotation(run Run) (Extras, error) {
	if run.Pod.Object.Annotations["test.example/device"] == "" {
		return Extras{}, nil
	}
	return Extras{
		Env:         []*runtimeapi.KeyValue{{Key: "DEVICE", Value: []byte("0")}, {Key: "OWN", Value: []byte("replaced")}},
		Mounts:      []*runtimeapi.Mount{{ContainerPath: "/lib/device", HostPath: "/lib/device", Readonly: true}},
		Devices:     []*runtimeapi.Device{{ContainerPath: "/dev/device", HostPath: "/dev/device0", Permissions: "rw"}},
		Annotations: map[string]string{"device.example/index": "0", annotationHash: "replaced"},
		CDIDevices:  []string{"device.example/kind=0"},
	}, nil
}

// asText writes a configuration as YAML, with the values of variables as text. A zero value is left out: POD of a
// namespace, RuntimeDefault of a profile, TCP of a port.
func asText(t *testing.T, config proto.Message, failed error) string {
	t.Helper()
	if failed != nil {
		return "error: " + failed.Error() + "\n"
	}
	data, err := protojson.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	if envs, ok := tree["envs"].([]any); ok {
		for _, variable := range envs {
			asPlain(t, variable.(map[string]any))
		}
	}
	shorten(tree)
	text, err := yaml.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func asPlain(t *testing.T, variable map[string]any) {
	t.Helper()
	encoded, _ := variable["value"].(string)
	value, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	variable["value"] = string(value)
}

// shorten replaces the usual lists of hidden and of read-only paths, which would make up half of each file.
func shorten(tree map[string]any) {
	linux, _ := tree["linux"].(map[string]any)
	security, _ := linux["securityContext"].(map[string]any)
	for name, usual := range map[string]int{
		"maskedPaths": len(maskedPaths) + len(testNode.Machine.Throttles), "readonlyPaths": len(readonlyPaths),
	} {
		if paths, ok := security[name].([]any); ok && len(paths) == usual {
			security[name] = "the usual ones"
		}
	}
}

package rig

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestPodOutlivesKilledContainerdAndLeavesNothing(t *testing.T) {
	Require(t)
	before := Snapshot()
	t.Run("while the rig is there", func(t *testing.T) {
		rt := Containerd(t)
		pod := startPod(t, rt, "web", []string{"http", "8080"})
		url := fmt.Sprintf("http://%s:8080/", podIP(t, rt, pod))
		if got, want := get(t, url), "web\n"; got != want {
			t.Fatalf("the pod answered %q, want %q", got, want)
		}
		if got, want := get(t, fmt.Sprintf("http://127.0.0.1:%d/", hostPort(rt))), "web\n"; got != want {
			t.Errorf("the host port answered %q, want %q", got, want)
		}
		killed := rt.Pid
		if err := rt.Kill(); err != nil {
			t.Fatal(err)
		}
		if got, want := get(t, url), "web\n"; got != want {
			t.Fatalf("without containerd the pod answered %q, want %q", got, want)
		}
		if err := rt.Start(); err != nil {
			t.Fatal(err)
		}
		if rt.Pid == killed {
			t.Errorf("the new containerd has pid %d, as the killed one had", killed)
		}
		status, err := rt.CRI().PodSandboxStatus(t.Context(), &runtimev1.PodSandboxStatusRequest{PodSandboxId: pod})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := status.Status.State, runtimev1.PodSandboxState_SANDBOX_READY; got != want {
			t.Errorf("after the restart the sandbox is %s, want %s", got, want)
		}
	})
	if left := Leaks(before); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

func TestRigsLiveSideBySide(t *testing.T) {
	a, b := Containerd(t), Containerd(t)
	podA := startPod(t, a, "a", []string{"pause"})
	podB := startPod(t, b, "b", []string{"pause"})
	if ipA, ipB := podIP(t, a, podA), podIP(t, b, podB); ipA == ipB {
		t.Errorf("both rigs gave out %s", ipA)
	}
	for rt, want := range map[*Runtime]string{a: podA, b: podB} {
		list, err := rt.CRI().ListPodSandbox(t.Context(), &runtimev1.ListPodSandboxRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != 1 || list.Items[0].Id != want {
			t.Errorf("%s lists %d pods, want its own one only", rt.Dir, len(list.Items))
		}
	}
}

func TestSweepFindsAndRemovesWhatACrashLeft(t *testing.T) {
	rt := Containerd(t)
	startPod(t, rt, "orphan", []string{"ignore"})
	if err := rt.Kill(); err != nil {
		t.Fatal(err)
	}
	left := strings.Join(remains(rt.slot), "\n")
	for _, want := range []string{"process", "mount", "network interface", "cgroup", "directory"} {
		if !strings.Contains(left, want) {
			t.Errorf("the remains of a crashed rig name no %q:\n%s", want, left)
		}
	}
	if err := sweep(rt.slot); err != nil {
		t.Fatal(err)
	}
	if err := rt.writeConfig(); err != nil { // the rig's own clean-up starts it once more
		t.Fatal(err)
	}
}

func TestLeaksNamesWhatAppeared(t *testing.T) {
	Require(t)
	before := Snapshot()
	const name = "/run/netns/nodal-rig-leak"
	if err := os.MkdirAll("/run/netns", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(Left(before), "\n")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if want := "network namespace " + name; !strings.Contains(got, want) {
		t.Errorf("leaks are %q, want %q among them", got, want)
	}
}

func TestLeaksNamesAProcessWithTheMarkOfThisRun(t *testing.T) {
	Require(t)
	t.Setenv(RunEnv, "leak-test")
	before := Snapshot()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	want, got := fmt.Sprintf("process %d (sleep 60)", cmd.Process.Pid), ""
	found := eventually(10*time.Second, func() bool { // the process has its name a little after its start
		got = strings.Join(Left(before), "\n")
		return strings.Contains(got, want)
	})
	cmd.Process.Kill()
	cmd.Wait()
	if !found {
		t.Errorf("leaks are %q, want %q among them", got, want)
	}
}

// savedMappings is iptables-save's output for two pods with a port each.
const savedMappings = `*nat
:CNI-DN-aaa - [0:0]
:CNI-DN-bbb - [0:0]
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"nrig1\" id: \"x\"" -m multiport --dports 80 -j CNI-DN-aaa
-A CNI-HOSTPORT-DNAT -p tcp -m multiport --dports 81 -j CNI-DN-bbb
-A CNI-DN-aaa -s 10.88.1.0/24 -p tcp -m tcp --dport 80 -j CNI-HOSTPORT-SETMARK
-A CNI-DN-aaa -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.88.1.5:80
-A CNI-DN-bbb -p tcp -m tcp --dport 81 -j DNAT --to-destination 10.88.12.5:80
COMMIT
`

func TestUndoPortMappings(t *testing.T) {
	want := `*nat
-D CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"nrig1\" id: \"x\"" -m multiport --dports 80 -j CNI-DN-aaa
-F CNI-DN-aaa
-X CNI-DN-aaa
COMMIT
`
	if got := undoPortMappings(savedMappings, "10.88.1."); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := undoPortMappings(savedMappings, "10.88.2."); got != "" {
		t.Errorf("a subnet without mappings got\n%s", got)
	}
}

func TestPortMappingsAreNamedByTheirPods(t *testing.T) {
	want := []string{"CNI-DN-aaa to 10.88.1.5:80", "CNI-DN-bbb to 10.88.12.5:80"}
	if got := portChains(savedMappings); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// startPod runs a pod of one container by CRI calls alone, and returns the sandbox's ID.
func startPod(t *testing.T, rt *Runtime, name string, args []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sandbox := &runtimev1.PodSandboxConfig{
		Metadata:     &runtimev1.PodSandboxMetadata{Name: name, Namespace: "rig", Uid: name},
		Hostname:     name,
		LogDirectory: rt.Dir + "/logs/" + name,
		PortMappings: []*runtimev1.PortMapping{{ContainerPort: 8080, HostPort: hostPort(rt), HostIp: "127.0.0.1"}},
		Linux:        &runtimev1.LinuxPodSandboxConfig{CgroupParent: rt.CgroupParent + "/" + name},
	}
	pod, err := rt.CRI().RunPodSandbox(ctx, &runtimev1.RunPodSandboxRequest{Config: sandbox})
	if err != nil {
		t.Fatalf("run the sandbox: %v\n%s", err, rt.logTail())
	}
	image := &runtimev1.ImageSpec{Image: rt.Image("probe")}
	if _, err := rt.Images().PullImage(ctx, &runtimev1.PullImageRequest{Image: image}); err != nil {
		t.Fatalf("pull the image: %v", err)
	}
	container, err := rt.CRI().CreateContainer(ctx, &runtimev1.CreateContainerRequest{
		PodSandboxId: pod.PodSandboxId, SandboxConfig: sandbox,
		Config: &runtimev1.ContainerConfig{
			Metadata: &runtimev1.ContainerMetadata{Name: "main"}, Image: image, Args: args, LogPath: "main.log",
		},
	})
	if err != nil {
		t.Fatalf("create the container: %v", err)
	}
	if _, err := rt.CRI().StartContainer(ctx, &runtimev1.StartContainerRequest{ContainerId: container.ContainerId}); err != nil {
		t.Fatalf("start the container: %v", err)
	}
	return pod.PodSandboxId
}

func hostPort(rt *Runtime) int32 { return 41000 + int32(rt.slot) }

func podIP(t *testing.T, rt *Runtime, id string) string {
	t.Helper()
	status, err := rt.CRI().PodSandboxStatus(t.Context(), &runtimev1.PodSandboxStatusRequest{PodSandboxId: id})
	if err != nil {
		t.Fatal(err)
	}
	return status.Status.Network.GetIp()
}

// get requests a page until the server in the pod listens.
func get(t *testing.T, url string) string {
	t.Helper()
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}} // and no proxy
	var body []byte
	var err error
	answered := eventually(10*time.Second, func() bool {
		var response *http.Response
		if response, err = client.Get(url); err != nil {
			return false
		}
		defer response.Body.Close()
		body, err = io.ReadAll(response.Body)
		return err == nil
	})
	if !answered {
		t.Fatalf("ask the pod: %v", err)
	}
	return string(body)
}

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// container is a container of the runtime.
type container struct {
	pod, name, id string
	attempt       uint32
	running       bool
}

// containers lists the runtime's containers of the pods with this name, or of all pods.
func (n *node) containers(pod string) []container {
	n.t.Helper()
	reply, err := n.rt.CRI().ListContainers(n.t.Context(), &runtimev1.ListContainersRequest{})
	if err != nil {
		n.t.Fatalf("list containers: %v", err)
	}
	var found []container
	for _, c := range reply.Containers {
		of := c.Labels["io.kubernetes.pod.name"]
		if pod == "" || of == pod {
			found = append(found, container{of, c.Metadata.Name, c.Id, c.Metadata.Attempt, c.State == runtimev1.ContainerState_CONTAINER_RUNNING})
		}
	}
	slices.SortFunc(found, func(a, b container) int {
		return strings.Compare(fmt.Sprint(a.pod, a.name, a.attempt), fmt.Sprint(b.pod, b.name, b.attempt))
	})
	return found
}

// sandboxes counts the sandboxes of a pod, or of all pods.
func (n *node) sandboxes(pod string) int {
	n.t.Helper()
	reply, err := n.rt.CRI().ListPodSandbox(n.t.Context(), &runtimev1.ListPodSandboxRequest{})
	if err != nil {
		n.t.Fatalf("list sandboxes: %v", err)
	}
	count := 0
	for _, s := range reply.Items {
		if pod == "" || s.Metadata.Name == pod {
			count++
		}
	}
	return count
}

// pid returns the process of a running container.
func (n *node) pid(id string) int {
	n.t.Helper()
	reply, err := n.rt.CRI().ContainerStatus(n.t.Context(), &runtimev1.ContainerStatusRequest{ContainerId: id, Verbose: true})
	if err != nil {
		n.t.Fatalf("inspect container %s: %v", id, err)
	}
	var info struct {
		Pid int `json:"pid"`
	}
	if err := json.Unmarshal([]byte(reply.Info["info"]), &info); err != nil || info.Pid == 0 {
		n.t.Fatalf("container %s has no process (%v)", id, err)
	}
	return info.Pid
}

// running maps each running container to its process. It leaves out containers that end meanwhile.
func (n *node) running() map[container]int {
	n.t.Helper()
	found := map[container]int{}
	for _, c := range n.containers("") {
		if !c.running {
			continue
		}
		if pid := n.processOf(c); pid != 0 {
			found[c] = pid
		}
	}
	return found
}

// web requests a page from a pod until it answers.
func (n *node) web(ip string) string {
	n.t.Helper()
	return n.answer(ip + ":8080")
}

// answer requests a page from an address until it answers, and returns the body.
func (n *node) answer(address string) string {
	n.t.Helper()
	// No proxy, no shared connection.
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	var body []byte
	n.eventually("an answer from "+address, func() bool {
		response, err := client.Get("http://" + address + "/")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		body, err = io.ReadAll(response.Body)
		return err == nil
	})
	return string(body)
}

// strike kills every process of a pod, unseen by agent and runtime.
func (n *node) strike(pod string) {
	n.t.Helper()
	for _, c := range n.containers(pod) {
		if c.running {
			n.killContainer(pod, c.name)
		}
	}
}

// killContainer kills one container of a pod, unseen by agent and runtime.
func (n *node) killContainer(pod, name string) {
	n.t.Helper()
	for _, c := range n.containers(pod) {
		if c.running && c.name == name {
			if err := unix.Kill(n.pid(c.id), unix.SIGKILL); err != nil {
				n.t.Fatal(err)
			}
		}
	}
}

package oom

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// Cgroups knows how cgroups are called.
type Cgroups struct {
	Words    func(path string) []string // of a path, top first
	PodWords func(uid string) [2]string // that the cgroup of a pod may have
}

// victim is the pod of a killed process. The depth of a cgroup is the number of words that lead to it; zero means none.
type victim struct {
	key       node.Key
	uid       types.UID
	container string // its name; empty if the process was in none that is known
	pod, run  int    // depths of the cgroups of the pod and of the container
}

// Events returns what to say of a kill.
func (c Cgroups) Events(kill node.Kill, pods []store.View, now time.Time) (events []node.Event) {
	v, ok := c.find(kill.Cgroup, pods)
	level := c.level(kill, v)
	if ok {
		events = append(events, node.Event{
			Key: v.key, UID: v.uid, Container: v.container, Time: now, Warning: true, Reason: node.OOMKilled,
			Message: describe(kill, v, level),
		})
	}
	if level == machine || ok && level == above {
		events = append(events, node.Event{
			Time: now, Warning: true, Reason: node.SystemOOM,
			Message: fmt.Sprintf("System OOM encountered, victim process: %s, pid: %d", kill.Process, kill.PID),
		})
	}
	return events
}

// find finds the pod of a cgroup. The word that is next to the top decides: a container may have cgroups of its own, and
// call them as it likes.
func (c Cgroups) find(path string, pods []store.View) (victim, bool) {
	words, known, runs := c.Words(path), c.pods(pods), containers(pods)
	for i, word := range words {
		if v, ok := known[word]; ok {
			v.pod = i + 1
			if i+1 < len(words) && runs[words[i+1]].uid == v.uid {
				v.container, v.run = runs[words[i+1]].container, i+2
			}
			return v, true
		}
		if v, ok := runs[word]; ok { // pods have no cgroups of their own
			v.run = i + 1
			return v, true
		}
	}
	return victim{}, false
}

// pods returns the pods by the words of their cgroups. One that ends beside its successor counts too.
func (c Cgroups) pods(views []store.View) map[string]victim {
	known := map[string]victim{}
	for _, v := range views {
		uids := []types.UID{v.Slot.Pod.UID()}
		if v.Got != nil {
			for i := range v.Got.Containers {
				uids = append(uids, v.Got.Containers[i].UID)
			}
		}
		for _, uid := range uids {
			for _, word := range c.PodWords(string(uid)) {
				known[word] = victim{key: v.Key, uid: uid}
			}
		}
	}
	return known
}

// containers returns the runs of containers by ID.
func containers(views []store.View) map[string]victim {
	runs := map[string]victim{}
	for _, v := range views {
		if v.Got == nil {
			continue
		}
		for i := range v.Got.Containers {
			c := &v.Got.Containers[i]
			runs[c.ID] = victim{key: v.Key, uid: c.UID, container: c.Name}
		}
	}
	return runs
}

// level names what was out of memory.
type level uint8

const (
	unknown level = iota
	machine
	above  // all pods together, or more
	ofPod  // the pod as a whole
	ofRun  // the container
	inside // a cgroup that the container has made, or the sandbox
)

func (c Cgroups) level(kill node.Kill, v victim) level {
	words, limited := c.Words(kill.Cgroup), c.Words(kill.Limited)
	depth := len(limited)
	switch {
	case kill.Machine:
		return machine
	case kill.Limited == "" || depth > len(words) || !slices.Equal(limited, words[:depth]):
		return unknown
	case depth < cmp.Or(v.pod, v.run):
		return above
	case depth == v.pod:
		return ofPod
	case depth == v.run:
		return ofRun
	}
	return inside
}

// describe says in words what was killed and why.
func describe(kill node.Kill, v victim, at level) string {
	text := fmt.Sprintf("the kernel killed process %q (pid %d)", kill.Process, kill.PID)
	if v.container != "" {
		text += " of container " + v.container
	}
	why := map[level]string{
		unknown: "a limit of memory was reached",
		machine: "the machine was out of memory",
		above:   "all pods together were at their memory limit",
		ofPod:   "the pod was at its memory limit",
		ofRun:   "the container was at its memory limit",
		inside:  "a cgroup inside of the pod was at its memory limit",
	}[at]
	if kill.Limit > 0 {
		why += " of " + resource.NewQuantity(kill.Limit, resource.BinarySI).String()
	}
	return text + ": " + why
}

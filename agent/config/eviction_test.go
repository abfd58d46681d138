package config

import (
	"fmt"
	"strings"
	"testing"
)

// outlined prints the rules of eviction in a few words.
func outlined(c *Config) string {
	var words []string
	for _, r := range c.Reserved.Rules {
		amount := r.Least.Quantity.String()
		if r.Least.Percent > 0 {
			amount = fmt.Sprintf("%v%%", r.Least.Percent)
		}
		word := fmt.Sprintf("%s<%s", r.Signal, amount)
		if r.Grace > 0 {
			word += " for " + r.Grace.String()
		}
		if !r.Reclaim.Quantity.IsZero() {
			word += " then " + r.Reclaim.Quantity.String()
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func TestThresholdsOfEviction(t *testing.T) {
	const defaults = "allocatableMemory.available<100Mi, imagefs.available<15%, imagefs.inodesFree<5%, memory.available<100Mi, nodefs.available<10%, nodefs.inodesFree<5%"
	for _, c := range []struct {
		name, file string
		want       string
	}{
		{"the defaults are upstream's", "maxPods: 1", defaults},
		{"one that is set drops the others", "evictionHard: {pid.available: 1k}", "pid.available<1k"},
		{"unless they are to be merged", "evictionHard: {pid.available: 1k}\nmergeDefaultEvictionSettings: true", defaults + ", pid.available<1k"},
		{"what is set wins then", "evictionHard: {memory.available: 2Gi, nodefs.available: 0%, nodefs.inodesFree: 0%, imagefs.inodesFree: 100%}\nmergeDefaultEvictionSettings: true",
			"allocatableMemory.available<2Gi, imagefs.available<15%, memory.available<2Gi"},
		{"nothing and everything are no thresholds", "evictionHard: {memory.available: 0%, nodefs.available: 100%, pid.available: '0'}", ""},
		{"pods that are not held together have no limit to leave", "enforceNodeAllocatable: [none]\nevictionHard: {memory.available: 1Gi}", "memory.available<1Gi"},
		{"soft ones have their grace, hard ones none", "evictionHard: {memory.available: 1Gi}\nevictionSoft: {memory.available: 20%}\nevictionSoftGracePeriod: {memory.available: 1m30s}\nenforceNodeAllocatable: []",
			"memory.available<1Gi, memory.available<20% for 1m30s"},
		{"a minimum holds for both", "evictionHard: {nodefs.available: 1Gi}\nevictionMinimumReclaim: {nodefs.available: 500Mi, imagefs.available: 2Gi}", "nodefs.available<1Gi then 500Mi"},
		{"the disk of containers has no thresholds of its own", "evictionHard: {containerfs.available: 1Gi}", ""},
	} {
		if got := outlined(load(t, "--config", write(t, t.TempDir(), "kubelet.yaml", c.file+"\n"))); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	got := outlined(load(t, "--eviction-hard=memory.available<1Gi", "--eviction-soft=pid.available<9k", "--eviction-soft-grace-period=pid.available=2m"))
	if want := "allocatableMemory.available<1Gi, memory.available<1Gi, pid.available<9k for 2m0s"; got != want {
		t.Errorf("by flags: got %s, want %s", got, want)
	}
}

func TestThresholdsOfTheDiskOfContainersAreNamed(t *testing.T) {
	got := Unhonoured(load(t, "--eviction-hard=containerfs.available<1Gi,nodefs.available<1Gi"))
	if len(got) != 1 || got[0].Setting != "evictionHard[containerfs.available]" {
		t.Errorf("got %v, want the one of containerfs", got)
	}
}

func TestASoftThresholdThatTheHardOneOvertakesIsNamed(t *testing.T) {
	const grace = "\nevictionSoftGracePeriod: {memory.available: 1m, nodefs.available: 1m}\n"
	for _, c := range []struct{ name, file, want string }{
		{"above", "evictionHard: {memory.available: 1Gi}\nevictionSoft: {memory.available: 2Gi}", ""},
		{"below", "evictionHard: {memory.available: 1Gi}\nevictionSoft: {memory.available: 500Mi}", "evictionSoft[memory.available]"},
		{"the same", "evictionHard: {memory.available: 1Gi}\nevictionSoft: {memory.available: 1024Mi}", "evictionSoft[memory.available]"},
		{"a smaller share", "evictionHard: {nodefs.available: 10%}\nevictionSoft: {nodefs.available: 5%}", "evictionSoft[nodefs.available]"},
		{"a greater share", "evictionHard: {nodefs.available: 10%}\nevictionSoft: {nodefs.available: 15%}", ""},
		{"a share and an amount", "evictionHard: {nodefs.available: 10%}\nevictionSoft: {nodefs.available: 1Gi}", ""},
		{"of other signals", "evictionHard: {nodefs.available: 10Gi}\nevictionSoft: {memory.available: 1Gi}", ""},
	} {
		got := ""
		for _, w := range Warnings(load(t, "--config", write(t, t.TempDir(), "kubelet.yaml", c.file+grace))) {
			got += w.Setting
		}
		if got != c.want {
			t.Errorf("%s: warned of %q, want %q", c.name, got, c.want)
		}
	}
}

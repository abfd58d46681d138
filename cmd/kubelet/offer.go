package main

import (
	"fmt"
	"maps"
	"os"
	goruntime "runtime"
	"strings"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/cmd/kubelet/config"
	"nodal/node/admit"
)

// offer is what pods may have of this machine, and the labels that they may
// choose it by.
func offer(cfg *config.Config, m machine) (admit.Node, error) {
	var root unix.Statfs_t
	if err := unix.Statfs(cfg.Dirs.Root, &root); err != nil {
		return admit.Node{}, fmt.Errorf("ask for the size of the file system of %s: %w", cfg.Dirs.Root, err)
	}
	labels := map[string]string{
		corev1.LabelHostname: cfg.NodeName, corev1.LabelOSStable: goruntime.GOOS, corev1.LabelArchStable: goruntime.GOARCH,
	}
	maps.Copy(labels, cfg.NodeLabels)
	return admit.Node{
		Name: cfg.NodeName, Labels: labels, UnsafeSysctls: cfg.UnsafeSysctls, AppArmor: enforcesAppArmor(),
		Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:              *resource.NewQuantity(int64(goruntime.NumCPU()), resource.DecimalSI),
			corev1.ResourceMemory:           *resource.NewQuantity(m.memory, resource.BinarySI),
			corev1.ResourceEphemeralStorage: *resource.NewQuantity(int64(root.Blocks)*root.Bsize, resource.BinarySI),
			corev1.ResourcePods:             *resource.NewQuantity(int64(cfg.MaxPods), resource.DecimalSI),
		},
	}, nil
}

func enforcesAppArmor() bool {
	answer, err := os.ReadFile("/sys/module/apparmor/parameters/enabled")
	return err == nil && strings.HasPrefix(string(answer), "Y")
}

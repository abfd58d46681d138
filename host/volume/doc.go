// Package volume lays out the volumes of pods on the machine, returns the mounts of each
// container, and removes the volumes again.
//
//	<Pods>/<uid>/volumes/kubernetes.io~<kind>/<name>          a volume
//	<Pods>/<uid>/volume-subpaths/<name>/<container>/<index>   a part of one, mounted alone
//
// The paths are those of every kubelet. There is no record of what was done: the
// directories and the kernel's mount table are the truth, so each function here may
// be repeated, and goes on where a crash has ended the last call.
//
//	kind.go               the list of kinds
//	empty_dir.go, ...     one file a kind
//	content.go            the files of configMap, secret, downwardAPI and projected
//	payload.go            files that change all at once
//	claim.go              the volumes that persistentVolumeClaims are bound to
//	block.go              those of them that are devices
//	group.go              fsGroup; group_hand.go for volumes that outlive the pod
//	container_mounts.go   the mounts of a container; sub_path.go for subPath
//	home.go               which directories of pods are this node's
//	teardown.go           unmount before remove, and never remove across a mount
//	sweep.go              the directories of unknown pods
//
// Containers write into volumes, so nothing below one is trusted: paths in it are
// resolved by the kernel beneath the volume, and removal follows no link.
//
// Start reading at Tree.SetUp.
package volume

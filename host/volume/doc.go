// Package volume lays out the volumes of pods on the machine, tells what of them
// to mount into a container, and takes them away again.
//
//	<Pods>/<uid>/volumes/kubernetes.io~<kind>/<name>          a volume
//	<Pods>/<uid>/volume-subpaths/<name>/<container>/<index>   a part of one, mounted alone
//
// The paths are those of every kubelet. There is no record of what was done: the
// directories and the kernel's mount table are the truth, so each function here may
// be repeated, and goes on where a crash has ended the last.
//
//	kind.go               the list of kinds
//	empty_dir.go, ...     one file a kind
//	content.go            what configMap, secret, downwardAPI and projected hold
//	payload.go            files that change all at once
//	claim.go              what a persistentVolumeClaim is bound to
//	block.go              and if that is a device, not files
//	group.go              fsGroup, and of volumes that last group_hand.go
//	container_mounts.go   what a container gets to see, subPath in sub_path.go
//	home.go               which directories of pods are this node's
//	teardown.go           unmount before remove, and never remove across a mount
//
// Containers write into volumes, so nothing below one is trusted: paths in it are
// resolved by the kernel beneath the volume, and removal follows no link.
//
// Start reading at Tree.SetUp.
package volume

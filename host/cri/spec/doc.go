// Package spec translates pods to CRI's configurations.
//
//	node.Pod, action ──Node.Run────────▶ Run: one run of a container
//	Run, Objects ──────Node.Environment▶ Variables, which ChooseMounts needs too
//	Run, Contributors ─Collect─────────▶ Extras: mounts, devices, and more beside the spec
//	all of these ──────Node.Container──▶ runtimeapi.ContainerConfig
//	Sandbox ───────────Node.Sandbox────▶ runtimeapi.PodSandboxConfig, and notices to the pod's owner
//
// The package is pure: it calls no runtime and reads no file. The node's settings and the facts of its machine come
// in as a Node. A Contributor may do more, and is the caller's.
//
// labels.go also reads back what the translation wrote into labels and annotations. The runtime keeps them, so they
// outlive the agent.
//
// # Where things are
//
// Start reading at Node.Container in container.go and Node.Sandbox in sandbox.go. testdata holds pods beside their
// configurations; go test -update ./host/cri/spec rewrites the configurations.
package spec

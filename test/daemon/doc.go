// Package daemon runs the real kubelet binary for tests: as a child process
// with its own directories, socket and ports, on a runtime of package rig.
//
//	rt := rig.Containerd(t)
//	d := daemon.Start(t, rt)
//	d.Curl("/v1/manifests", "--data-binary", "@pod.yaml")
//	d.Await("web runs", func(p daemon.Pods) bool { return p.Ready("web") })
//	d.Kill(); d.Restart()      // pods survive
//
// Waiting goes through the node's own watch, never through a clock.
package daemon

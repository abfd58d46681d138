// Package rig gives a test its own real container runtime.
//
// Containerd starts a private containerd (Debian's, unless told otherwise) with its own root,
// state, socket, bridge network, cgroup parent and, in this process, an image registry. All of it
// is removed when the test ends.
//
//	rt := rig.Containerd(t)
//	rt.Endpoint            // give this to the program under test
//	rt.CgroupParent        // and this as the parent of its cgroups
//	rt.Image("probe")      // an image reference for a manifest
//	rt.Kill(); rt.Start()  // pods survive both
//
// Everything of a rig is named after its slot, a small number. An abstract unix socket holds the
// slot while the test process lives (claim.go). So rigs of parallel tests and parallel test
// binaries never meet, and the next owner of a slot removes what a crashed run has left.
//
// A rig fails its test if it leaves anything behind. Snapshot and Leaks check the same for a whole
// test run; the command in test/rig/leaks wraps them.
//
// Start reading at runtime.go; teardown.go mirrors it.
package rig

// Package rig gives a test a real container runtime of its own.
//
// Containerd starts a private containerd (Debian's, unless told otherwise) with
// its own root, state, socket, bridge network, cgroup parent and an image
// registry in this process, and takes all of it away again when the test ends.
//
//	rt := rig.Containerd(t)
//	rt.Endpoint            // give this to the program under test
//	rt.CgroupParent        // and this as the parent of its cgroups
//	rt.Image("probe")      // an image reference for a manifest
//	rt.Kill(); rt.Start()  // pods survive both
//
// Everything a rig owns is named after its slot, a small number that an
// abstract unix socket holds for as long as the test process lives (claim.go).
// So rigs of parallel tests and parallel test binaries never meet, and what a
// crashed run left behind is swept by the next one that gets the slot.
//
// A rig fails its test if it leaves something behind. Snapshot and Leaks prove
// the same for a whole test run; the command in test/rig/leaks wraps them.
//
// Start reading at runtime.go; teardown.go mirrors it.
package rig

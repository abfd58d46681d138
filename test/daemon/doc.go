// Package daemon runs a kubelet of package agent together with a client of its node API, for tests
// about pods rather than about the API.
//
//	rt := rig.Containerd(t)
//	d := daemon.Start(t, rt)
//	nodev1.NewManifestsServiceClient(d.Conn()).Apply(...)
//	d.Await("web runs", func(p daemon.Pods) bool { return p.Ready("web") })
//	d.Kill(); d.Launch()      // pods survive
//
// It waits through the node's own watch, never by sleeping.
package daemon

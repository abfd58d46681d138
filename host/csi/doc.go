// Package csi has CSI drivers bring volumes to this node.
//
//	plugin registers ── Meet ──▶ what the driver can do, on the board of plugins
//	reconciler ── Stage, Unstage ──▶ once for each volume    <Plugins>/kubernetes.io/csi/<driver>/<hash>/globalmount
//	volumes of pods ── Publish, Unpublish ──▶ once for each pod    .../volumes/kubernetes.io~csi/<name>/mount
//
// The paths are those of every kubelet, and so is vol_data.json, which names the driver and the volume beside each of
// them: a directory cannot be taken away without these names. What was done has no record. A volume is there if the
// kernel's mount table shows it and its directory has the mark that is set after the driver's answer. After a crash in
// between the driver is asked again, which it has to expect.
//
// Drivers are not trusted. Each call has a deadline and each message a bound. A driver that does not answer holds up its
// own volumes only: nothing here holds a lock that volumes share during a call.
//
// Start reading at Volumes in volumes.go.
package csi

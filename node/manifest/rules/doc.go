// Package rules decides whether an object is valid: it holds the rules that Kubernetes'
// API server applies when an object is created, and those by which this node goes
// further. It is pure, changes nothing, and needs objects that have their defaults.
//
//	Pod ─┬─ podCheck        metadata, host, lifetime     pod.go, annotation.go, host.go
//	     ├─ volumeCheck     volumes and their sources    volume.go, projected.go
//	     ├─ containerCheck  containers of every kind     container.go, ephemeral.go
//	     │   ├─ envCheck        environment              env.go
//	     │   ├─ mountCheck      mounts and devices       mount.go
//	     │   └─ lifecycleCheck  probes and hooks         probe.go
//	     └─ placementCheck  what steers it to a node     scheduling.go
//
// The other kinds are [ConfigMap], [Secret], [PersistentVolume], [PersistentVolumeClaim],
// [RuntimeClass], [ClusterTrustBundle], [PriorityClass], [NetworkPolicy], [CSIDriver] and [Lease]. What several of them share is a check of its
// own: amountCheck for quantities, securityCheck for security contexts, storageCheck for
// volumes and claims, path.go and reference.go for strings with a grammar.
//
// Every check embeds [check], the list of violations and the vocabulary in which the
// rules are written. A violation names the field, repeats the value and says what has to
// hold. Whether this node honours a valid field is for node/capability to say.
//
// Kubernetes' own validation cannot be imported (docs/decisions). test/oracle holds these
// rules to a real kube-apiserver, in verdict and field.
//
// Start reading at [Pod], with check.go beside it.
package rules

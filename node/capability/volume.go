package capability

import "slices"

const (
	noAPIServer = "there is no API server that gives out such a thing"
	noDriver    = "there is no driver for it on this node"
)

// volumeRules answer for each kind of volume, so that a violation can name it.
func volumeRules() []rule {
	const at = "spec.volumes"
	rules := []rule{
		refuses(at, "the node has no such volumes"),
		honoured(at+".name", "a volume that no container mounts is not created"),
		honoured(at+".configMap", "the pod waits if it is missing and not optional; changes appear within seconds"),
		honoured(at+".secret", "never written to disk; the pod waits if it is missing and not optional"),
		honoured(at+".downwardAPI", ""),
		honoured(at+".hostPath", ""),
		honoured(at+".persistentVolumeClaim", "the pod waits until its claim is bound; for the class nodal-local, or none, the node creates a volume"),
		honoured(at+".ephemeral", "a claim that is created and deleted with the pod"),
	}
	for _, kind := range []string{
		"awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "fc", "flexVolume", "flocker",
		"gcePersistentDisk", "gitRepo", "glusterfs", "iscsi", "photonPersistentDisk", "portworxVolume", "quobyte",
		"rbd", "scaleIO", "storageos", "vsphereVolume",
	} {
		rules = append(rules, refuses(at+"."+kind, noDriver))
	}
	rules = append(rules,
		honoured(at+".csi", "needs a CSIDriver object whose volumeLifecycleModes list Ephemeral; without it the pod waits"),
		honoured(at+".image", "needs support by the runtime (containerd 2.1); without it no container is created, and the pod's status says why"),
		honoured(at+".nfs", "needs mount.nfs on the machine; without it the pod waits with an event"),
	)
	return slices.Concat(rules, emptyDirRules(at+".emptyDir."), projectedRules(at+".projected."))
}

func emptyDirRules(at string) []rule {
	return []rule{
		honoured(at+"medium", "HugePages uses the one size that the pod's containers request; HugePages-SIZE names the size"),
		honoured(at+"sizeLimit", "limits the size of a volume in memory; a pod that exceeds that of a volume on disk is evicted"),
		honoured(at+"mode", ""),
	}
}

func projectedRules(at string) []rule {
	return []rule{
		honoured(at+"defaultMode", ""),
		honoured(at+"defaultUser", ""),
		honoured(at+"sources.configMap", ""),
		honoured(at+"sources.secret", ""),
		honoured(at+"sources.downwardAPI", ""),
		honoured(at+"sources.clusterTrustBundle", "the pod waits for missing bundles that are not optional; changes appear within seconds"),
		refuses(at+"sources.serviceAccountToken", noAPIServer),
		refuses(at+"sources.podCertificate", noAPIServer),
	}
}

// mountRules answer for a mount in a container.
func mountRules(at string) []rule {
	return []rule{
		honoured(at+"name", ""),
		honoured(at+"mountPath", ""),
		honoured(at+"readOnly", ""),
		honoured(at+"subPath", "a missing directory is created; in a volume that the node writes, it stays empty"),
		honoured(at+"subPathExpr", "like subPath, with the container's variables expanded"),
		honoured(at+"mountPropagation", "other modes than None need a volume on a shared mount of the host"),
		honoured(at+"recursiveReadOnly", "Enabled needs support by the runtime; without it the container does not start"),
		refuses(at+"bindMountOptions", "the node does not apply them"),
	}
}

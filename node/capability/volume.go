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
		refuses(at, "no volume would be mounted"),
		honoured(at+".name", "a volume that no container mounts is not made"),
		honoured(at+".configMap", "the pod waits for what is missing and not optional; a change shows within seconds"),
		honoured(at+".secret", "never written to a disk; the pod waits for what is missing and not optional"),
		honoured(at+".downwardAPI", ""),
		honoured(at+".hostPath", ""),
		honoured(at+".persistentVolumeClaim", "the pod waits until its claim is bound; of the class nodal-local, or of none, the node makes volumes"),
		honoured(at+".ephemeral", "a claim that is made and deleted with the pod"),
	}
	for _, kind := range []string{
		"awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "csi", "fc", "flexVolume", "flocker",
		"gcePersistentDisk", "gitRepo", "glusterfs", "iscsi", "photonPersistentDisk", "portworxVolume", "quobyte",
		"rbd", "scaleIO", "storageos", "vsphereVolume",
	} {
		rules = append(rules, refuses(at+"."+kind, noDriver))
	}
	rules = append(rules,
		honoured(at+".image", "where the runtime can, as containerd from 2.1; elsewhere no container is created and the pod says why"),
		honoured(at+".nfs", "by the machine's mount.nfs; where it is missing the pod waits and says so"),
	)
	return slices.Concat(rules, emptyDirRules(at+".emptyDir."), projectedRules(at+".projected."))
}

func emptyDirRules(at string) []rule {
	return []rule{
		honoured(at+"medium", "huge pages are those of the one size that the pod's containers ask for, or of the size that is named"),
		honoured(at+"sizeLimit", "a volume in memory has no more room; a pod that writes more to one on the disk is evicted"),
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
		honoured(at+"sources.clusterTrustBundle", "the pod waits for bundles that are missing and not optional; a change shows within seconds"),
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
		honoured(at+"subPath", "what is not there is made; in a volume that the node writes an empty directory stands for it"),
		honoured(at+"subPathExpr", "as subPath, with the container's variables in it"),
		honoured(at+"mountPropagation", "other than None only where what is mounted lies on a shared mount of the host"),
		honoured(at+"recursiveReadOnly", "where the runtime can; else Enabled keeps the container from starting"),
		refuses(at+"bindMountOptions", "they would not hold"),
	}
}

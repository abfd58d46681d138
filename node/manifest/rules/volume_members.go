package rules

import (
	corev1 "k8s.io/api/core/v1"
)

// volumeMembers lists the arms of the volume source union, by their API names.
func volumeMembers(s *corev1.VolumeSource) []member {
	return []member{
		{"awsElasticBlockStore", s.AWSElasticBlockStore != nil},
		{"azureDisk", s.AzureDisk != nil},
		{"azureFile", s.AzureFile != nil},
		{"cephfs", s.CephFS != nil},
		{"cinder", s.Cinder != nil},
		{"configMap", s.ConfigMap != nil},
		{"csi", s.CSI != nil},
		{"downwardAPI", s.DownwardAPI != nil},
		{"emptyDir", s.EmptyDir != nil},
		{"ephemeral", s.Ephemeral != nil},
		{"fc", s.FC != nil},
		{"flexVolume", s.FlexVolume != nil},
		{"flocker", s.Flocker != nil},
		{"gcePersistentDisk", s.GCEPersistentDisk != nil},
		{"gitRepo", s.GitRepo != nil},
		{"glusterfs", s.Glusterfs != nil},
		{"hostPath", s.HostPath != nil},
		{"image", s.Image != nil},
		{"iscsi", s.ISCSI != nil},
		{"nfs", s.NFS != nil},
		{"persistentVolumeClaim", s.PersistentVolumeClaim != nil},
		{"photonPersistentDisk", s.PhotonPersistentDisk != nil},
		{"portworxVolume", s.PortworxVolume != nil},
		{"projected", s.Projected != nil},
		{"quobyte", s.Quobyte != nil},
		{"rbd", s.RBD != nil},
		{"scaleIO", s.ScaleIO != nil},
		{"secret", s.Secret != nil},
		{"storageos", s.StorageOS != nil},
		{"vsphereVolume", s.VsphereVolume != nil},
	}
}

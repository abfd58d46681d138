package manifest

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	"nodal/node"
)

// defaultSecret sets the type, and keeps stringData as data.
func defaultSecret(s *corev1.Secret) {
	setDefault(&s.Type, corev1.SecretTypeOpaque)
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = map[string][]byte{}
	}
	for key, text := range s.StringData {
		s.Data[key] = []byte(text)
	}
	s.StringData = nil
}

// defaultPersistentVolume drops what the node writes. A manifest may name the claim
// that the volume is set aside for; only the node binds it.
func defaultPersistentVolume(v *corev1.PersistentVolume) {
	v.Status = corev1.PersistentVolumeStatus{}
	if ref := v.Spec.ClaimRef; ref != nil {
		v.Spec.ClaimRef = &corev1.ObjectReference{Kind: string(node.PersistentVolumeClaim), Namespace: ref.Namespace, Name: ref.Name}
	}
	setDefaultPtr(&v.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	setDefault(&v.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	if v.Spec.HostPath != nil {
		setDefaultPtr(&v.Spec.HostPath.Type, corev1.HostPathUnset)
	}
}

func defaultPersistentVolumeClaim(v *corev1.PersistentVolumeClaim) {
	v.Status = corev1.PersistentVolumeClaimStatus{}
	setDefaultPtr(&v.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
}

func defaultRuntimeClass(class *nodev1.RuntimeClass) {
	if class.Overhead != nil {
		roundUp(class.Overhead.PodFixed)
	}
}

func defaultPriorityClass(class *schedulingv1.PriorityClass) {
	setDefaultPtr(&class.PreemptionPolicy, corev1.PreemptLowerPriority)
}

// defaultNetworkPolicy has a policy without types be about ingress, and about egress if it has rules for that.
func defaultNetworkPolicy(policy *networkingv1.NetworkPolicy) {
	spec := &policy.Spec
	if len(spec.PolicyTypes) == 0 {
		spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(spec.Egress) > 0 {
			spec.PolicyTypes = append(spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
	for _, rule := range spec.Ingress {
		defaultPolicyPorts(rule.Ports)
	}
	for _, rule := range spec.Egress {
		defaultPolicyPorts(rule.Ports)
	}
}

func defaultPolicyPorts(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		setDefaultPtr(&ports[i].Protocol, corev1.ProtocolTCP)
	}
}

func defaultCSIDriver(driver *storagev1.CSIDriver) {
	spec := &driver.Spec
	setDefaultPtr(&spec.AttachRequired, true)
	setDefaultPtr(&spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	for _, off := range []**bool{&spec.PodInfoOnMount, &spec.StorageCapacity, &spec.RequiresRepublish, &spec.SELinuxMount} {
		setDefaultPtr(off, false)
	}
	if len(spec.VolumeLifecycleModes) == 0 {
		spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
}

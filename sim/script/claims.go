package script

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/intake"
	"nodal/node/storage"
)

// keeper returns the keeper that makes volumes for claims.
func (s *stage) keeper() storage.Keeper { return storage.Keeper{Dir: "/volumes", NewUID: s.newUID} }

func (s *stage) claimRef(name string) node.ObjectRef {
	return node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: s.key.Namespace, Name: name}
}

// claim posts a claim, or deletes it.
func (s *stage) claim(words []string) error {
	if len(words) != 2 {
		return errUsage
	}
	defer s.tellClaim(words[1])
	if words[0] == "unclaim" {
		return s.intake.DeleteObject(s.claimRef(words[1]), s.now)
	}
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: words[1]}}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	_, _, err := s.intake.Apply([]intake.Delivery{{Object: node.NewObject(c)}}, s.now)
	return err
}

// tellClaim prints the state of a claim and its volume.
func (s *stage) tellClaim(name string) {
	object, ok := s.store.Object(s.claimRef(name))
	switch {
	case !ok:
		s.say("claim %s is gone", name)
	case object.Claim().DeletionTimestamp != nil:
		s.say("claim %s goes when no pod uses it", name)
	default:
		s.say("claim %s is %s", name, object.Claim().Status.Phase)
	}
}

// mountClaim mounts a claim's volume in all containers.
func mountClaim(spec *corev1.PodSpec, name string) {
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "claimed", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}})
	for i := range spec.Containers {
		spec.Containers[i].VolumeMounts = append(spec.Containers[i].VolumeMounts, corev1.VolumeMount{Name: "claimed", MountPath: "/claimed"})
	}
}

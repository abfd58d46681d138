package member

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

func TestAVolumeIsReachedByTheLabelsThatTheClusterGaveTheNode(t *testing.T) {
	in := func(zone string) *corev1.PersistentVolume {
		v := &corev1.PersistentVolume{}
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
		}}}}
		return v
	}
	placed := in("b")
	setPlaced(&placed.ObjectMeta, true)
	for _, c := range []struct {
		name   string
		volume *corev1.PersistentVolume
		want   bool
	}{
		{"one that is everywhere", &corev1.PersistentVolume{}, false},
		{"one of the node's zone", in("a"), true},
		{"one of another", in("b"), false},
		{"one of another that says it is here", placed, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := apiServer(func(*http.Request) (int, any, error) {
				return http.StatusOK, &corev1.Node{
					TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
					ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelTopologyZone: "a"}},
				}, nil
			})
			o := &objects{nodeName: "n", cluster: server.dial(t)}
			if err := o.markPlaced(t.Context(), c.volume); err != nil {
				t.Fatal(err)
			}
			if got := copyOf(c.volume); node.Placed(got) != c.want {
				t.Errorf("the node is told %v", got.GetAnnotations())
			}
		})
	}
}

func TestAPodUsesTheSecretsOfItsVolumesOnceTheyAreKnown(t *testing.T) {
	claim := node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "data"}
	secret := node.ObjectRef{Kind: node.Secret, Namespace: "drivers", Name: "disk"}
	pod := object("u1")
	pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	v := &corev1.PersistentVolume{}
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{
		Driver: "disk", VolumeHandle: "v", NodeStageSecretRef: &corev1.SecretReference{Namespace: "drivers", Name: "disk"},
		ControllerPublishSecretRef: &corev1.SecretReference{Namespace: "drivers", Name: "controller"},
	}
	o := &objects{used: map[node.ObjectRef]*usage{claim: {}}}
	for _, known := range []bool{false, true} {
		if known {
			o.need(claim, neededFor(v))
		}
		if _, uses := o.uses(pod)[secret]; uses != known {
			t.Errorf("the volume is known: %t; the pod uses its Secret: %t", known, uses)
		}
		if _, uses := o.uses(pod)[node.ObjectRef{Kind: node.CSIDriverObject, Name: "disk"}]; uses != known {
			t.Errorf("the volume is known: %t; the pod uses its driver: %t", known, uses)
		}
	}
	if kept := copyOf(v).(*corev1.PersistentVolume).Spec.CSI; kept.ControllerPublishSecretRef != nil || kept.NodeStageSecretRef == nil {
		t.Errorf("the node is told of Secrets %v and %v, want only those that it uses", kept.ControllerPublishSecretRef, kept.NodeStageSecretRef)
	}
}

func TestAVolumeIsThatOfItsClaimAlone(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*corev1.PersistentVolumeClaim, *corev1.PersistentVolume)
		owner  types.UID
		bound  bool
	}{
		{"both name the other", func(*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {}, "", true},
		{"a pod owns the claim", func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) {
			c.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", UID: "u1", Controller: new(true)}}
		}, "u1", true},
		{"another pod owns it", func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) {
			c.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", UID: "u2", Controller: new(true)}}
		}, "u1", false},
		{"the claim is not bound yet", func(c *corev1.PersistentVolumeClaim, _ *corev1.PersistentVolume) {
			c.Status.Phase = corev1.ClaimPending
		}, "", false},
		{"the volume names none", func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil }, "", false},
		{"the volume names a claim of that name that is gone", func(_ *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) { v.Spec.ClaimRef.UID = "old" }, "", false},
	} {
		claim := &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}}
		claim.Namespace, claim.Name, claim.UID, claim.Spec.VolumeName, claim.Status.Phase = "default", "data", "c1", "pv", corev1.ClaimBound
		volume := &corev1.PersistentVolume{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}}
		volume.Name, volume.Spec.ClaimRef = "pv", &corev1.ObjectReference{Namespace: "default", Name: "data", UID: "c1"}
		c.change(claim, volume)
		server := apiServer(func(r *http.Request) (int, any, error) {
			if strings.Contains(r.URL.Path, "claims") {
				return http.StatusOK, claim, nil
			}
			return http.StatusOK, volume, nil
		})
		ref := node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "data"}
		if _, _, err := server.dial(t).claim(t.Context(), ref, c.owner); (err == nil) != c.bound {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func TestAPodMountsTheClaimsThatTheClusterMadeForIt(t *testing.T) {
	pod := object("u1")
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "own", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
		{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
	}
	claim := func(name string) node.ObjectRef {
		return node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: pod.Namespace, Name: name}
	}
	if got := claimsOf(pod); len(got) != 2 || got[claim(pod.Name+"-own")] != "u1" || got[claim("data")] != "" {
		t.Errorf("it uses %v", got)
	}
	sent := manifestOf(pod, nil)
	if own := sent.Spec.Volumes[0]; own.Ephemeral != nil || own.PersistentVolumeClaim == nil || own.PersistentVolumeClaim.ClaimName != pod.Name+"-own" {
		t.Errorf("the node is told of %v", own)
	}
	if again := manifestOf(pod, sent); again.Spec.Volumes[0].Ephemeral != nil {
		t.Error("the volume is another one the second time")
	}
	if earlier := manifestOf(pod, pod); earlier.Spec.Volumes[0].Ephemeral == nil {
		t.Error("a pod that runs with a claim of the node's own loses it")
	}
}

package node

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// CSIPlugin is Kubernetes' word for plugins that are drivers of volumes.
const CSIPlugin = "CSIPlugin"

// What a CSI driver may be able to do, in the words of CSI.
const (
	StagesVolumes  = "STAGE_UNSTAGE_VOLUME"     // volumes are made ready once, before pods get them
	TellsUse       = "GET_VOLUME_STATS"         // it is asked how full its volumes are
	MountsForGroup = "VOLUME_MOUNT_GROUP"       // it gives volumes to the fsGroup itself
	TellsWriters   = "SINGLE_NODE_MULTI_WRITER" // it tells one writer of a node from several
	GrowsVolumes   = "EXPAND_VOLUME"            // it is asked when a volume has grown
)

// CSIDriver holds what a CSI driver says of itself when it registers. Nothing of it is trusted.
type CSIDriver struct {
	Version      string            // its own
	Node         string            // its name for this node
	MostVolumes  int64             // that it can have on this node; 0 says nothing
	Topology     map[string]string // where this node is
	Capabilities []string          // in order
}

// Can reports whether a driver has said that it can do something. A driver that is not known can do nothing.
func (d *CSIDriver) Can(what string) bool { return d != nil && slices.Contains(d.Capabilities, what) }

// CSIVolume names a volume of a CSI driver.
type CSIVolume struct{ Driver, Handle string }

// Compare orders volumes by driver and handle.
func (v CSIVolume) Compare(other CSIVolume) int {
	return cmp.Or(cmp.Compare(v.Driver, other.Driver), cmp.Compare(v.Handle, other.Handle))
}

// CSIVolumeOf returns the volume behind a PersistentVolume, if a CSI driver has it.
func CSIVolumeOf(v *corev1.PersistentVolume) (CSIVolume, bool) {
	if v == nil || v.Spec.CSI == nil {
		return CSIVolume{}, false
	}
	return CSIVolume{v.Spec.CSI.Driver, v.Spec.CSI.VolumeHandle}, true
}

// AnnotationAttached marks a volume of a cluster that is attached to this node, or need not be. Its value is what the
// volume's driver has to be told of that, as JSON.
const AnnotationAttached = "nodal.node/attached"

// Attached returns what the driver of a volume has to be told of how the volume is attached. It fails for a volume of a
// cluster that is not attached. Others never are.
func Attached(v *corev1.PersistentVolume) (told map[string]string, err error) {
	text, marked := v.Annotations[AnnotationAttached]
	switch {
	case !FromCluster(v):
		return nil, nil
	case !marked:
		return nil, fmt.Errorf("volume %q is not attached to this node by its cluster", v.Name)
	}
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		return nil, fmt.Errorf("read how volume %q is attached: %w", v.Name, err)
	}
	return told, nil
}

// InlineVolume returns the volume that stands for an inline csi volume of a pod. Its handle is the one that every kubelet
// makes.
func InlineVolume(pod *corev1.Pod, v *corev1.Volume) *corev1.PersistentVolume {
	source, lasting := v.CSI, &corev1.PersistentVolume{}
	lasting.Name = v.Name
	lasting.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	lasting.Spec.CSI = &corev1.CSIPersistentVolumeSource{
		Driver: source.Driver, VolumeHandle: fmt.Sprintf("csi-%x", sha256.Sum256([]byte(string(pod.UID)+v.Name))),
		ReadOnly: source.ReadOnly != nil && *source.ReadOnly, VolumeAttributes: source.VolumeAttributes,
	}
	if source.FSType != nil {
		lasting.Spec.CSI.FSType = *source.FSType
	}
	if ref := source.NodePublishSecretRef; ref != nil {
		lasting.Spec.CSI.NodePublishSecretRef = &corev1.SecretReference{Namespace: pod.Namespace, Name: ref.Name}
	}
	return lasting
}

// CheckLifecycle refuses a volume of a mode that the CSIDriver object of its driver does not list. Inline volumes need such
// an object: the author of a pod chooses what their driver is told. terms are nil if there is none.
func CheckLifecycle(driver string, terms *storagev1.CSIDriverSpec, mode storagev1.VolumeLifecycleMode) error {
	switch {
	case terms == nil && mode == storagev1.VolumeLifecyclePersistent:
		return nil
	case terms == nil:
		return fmt.Errorf("volume mode %q not supported by driver %s (no CSIDriver object)", mode, driver)
	case slices.Contains(terms.VolumeLifecycleModes, mode):
		return nil
	}
	return fmt.Errorf("volume mode %q not supported by driver %s (only supports %q)", mode, driver, terms.VolumeLifecycleModes)
}

// Lifecycle returns the mode of the volume in Kubernetes' words.
func (p Publication) Lifecycle() storagev1.VolumeLifecycleMode {
	if p.Inline {
		return storagev1.VolumeLifecycleEphemeral
	}
	return storagev1.VolumeLifecyclePersistent
}

// FSGroup returns the group that shares the volumes of a pod, or nil.
func FSGroup(pod *corev1.Pod) *int64 {
	if s := pod.Spec.SecurityContext; s != nil {
		return s.FSGroup
	}
	return nil
}

type (
	// StagedWish says what is wanted of a CSI volume on the node.
	StagedWish struct {
		ID     CSIVolume
		Volume *corev1.PersistentVolume // of the pods that use it; nil if none does
		Group  *int64                   // of the first of them
		Stages bool                     // its driver is there, and stages volumes
	}
	// Staged holds what a look shows of a CSI volume on the node.
	Staged struct {
		There bool // something is left of it, or it is staged
		Whole bool // it is staged
	}
	// Publication says how a pod gets a CSI volume.
	Publication struct {
		Volume   *corev1.PersistentVolume
		Inline   bool                     // Volume stands for an inline volume of the pod
		Terms    *storagev1.CSIDriverSpec // the CSIDriver object of its driver; nil if there is none
		Pod      *corev1.Pod
		Path     string // where it is mounted
		ReadOnly bool
		Group    *int64                  // of the pod; may be nil
		Hand     func(path string) error // gives the files to the group, if the driver does not
	}

	// StageVolume has a driver make a volume ready on the node.
	StageVolume struct {
		Volume *corev1.PersistentVolume
		Group  *int64 // that the driver gives it to, if it can
	}
	// UnstageVolume has a driver take a volume from the node.
	UnstageVolume struct{ Volume CSIVolume }
)

const targetStage = "stage"

func (StageVolume) Target() string   { return targetStage }
func (UnstageVolume) Target() string { return targetStage }

func (a StageVolume) String() string { return "stage volume " + a.Volume.Name }
func (a UnstageVolume) String() string {
	return "unstage volume " + a.Volume.Handle + " of " + a.Volume.Driver
}

// About says that a driver is asked within minutes, or fails. Nothing else is done about the volume meanwhile.
func (StageVolume) About() About   { return About{Place: OnMachine, Nature: Quick} }
func (UnstageVolume) About() About { return About{Place: OnMachine, Nature: Quick} }

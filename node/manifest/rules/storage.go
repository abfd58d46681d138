package rules

import (
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// storageCheck holds the rules of PersistentVolumes and claims, and those of volume
// sources that a pod may name as well.
type storageCheck struct{ *check }

// PersistentVolume returns the rules that a defaulted PersistentVolume breaks.
func PersistentVolume(v *corev1.PersistentVolume) field.ErrorList {
	c := storageCheck{&check{}}
	c.errs = metaOf(&v.ObjectMeta, false)
	c.persistentVolume(&v.Spec, field.NewPath("spec"))
	return c.errs
}

func (c storageCheck) persistentVolume(s *corev1.PersistentVolumeSpec, at *field.Path) {
	c.capacity(at.Child("capacity"), s.Capacity)
	if a := s.NodeAffinity; a != nil && a.Required == nil {
		c.missing(at.Child("nodeAffinity", "required"), "must specify required node constraints")
	} else if a != nil {
		placementCheck(c).nodeSelector(a.Required, at.Child("nodeAffinity", "required"))
	}
	if s.VolumeAttributesClassName != nil {
		c.refused(at.Child("volumeAttributesClassName"), "not supported by this node: there are no such classes")
	}
	c.accessModes(at.Child("accessModes"), s.AccessModes)
	c.oneUser(s, at.Child("accessModes"))
	c.volumeMode(at.Child("volumeMode"), s.VolumeMode)
	if isBlock(s.VolumeMode) && s.Local == nil && s.CSI == nil {
		c.refused(at.Child("volumeMode"), "not supported by this node: only a local volume or one of a CSI driver can be a device")
	}
	c.reclaims(s, at.Child("persistentVolumeReclaimPolicy"))
	c.optionalName(at.Child("storageClassName"), s.StorageClassName, validation.IsDNS1123Subdomain)
	if ref := s.ClaimRef; ref != nil {
		c.given(at.Child("claimRef", "name"), ref.Name)
		c.given(at.Child("claimRef", "namespace"), ref.Namespace)
	}
	c.mountOptions(s, at.Child("mountOptions"))
	switch {
	case s.HostPath != nil:
		c.hostPath(s.HostPath, at.Child("hostPath"))
	case s.NFS != nil:
		c.nfs(s.NFS, at.Child("nfs"))
	case s.CSI != nil:
		c.csi(s.CSI, at.Child("csi"))
	case s.Local != nil:
		c.given(at.Child("local", "path"), s.Local.Path)
		c.noBacksteps(at.Child("local", "path"), s.Local.Path)
		if s.Local.FSType != nil {
			c.refused(at.Child("local", "fsType"), "not supported by this node: it makes no file systems")
		}
	}
	if s.PersistentVolumeSource != (corev1.PersistentVolumeSource{HostPath: s.HostPath, Local: s.Local, NFS: s.NFS, CSI: s.CSI}) {
		c.refused(at, "not supported by this node: a volume has to be csi, local, hostPath or nfs, there is no driver for another kind")
		return
	}
	c.exactlyOne(at, member{"hostPath", s.HostPath != nil}, member{"local", s.Local != nil}, member{"nfs", s.NFS != nil},
		member{"csi", s.CSI != nil})
}

// csi refuses what only the controller of a driver would need.
func (c storageCheck) csi(s *corev1.CSIPersistentVolumeSource, at *field.Path) {
	c.name(at.Child("driver"), s.Driver, csiDriverName)
	c.given(at.Child("volumeHandle"), s.VolumeHandle)
	for _, secret := range []secretMember{
		{"nodeStageSecretRef", s.NodeStageSecretRef}, {"nodePublishSecretRef", s.NodePublishSecretRef},
		{"nodeExpandSecretRef", s.NodeExpandSecretRef},
	} {
		if secret.ref != nil {
			c.given(at.Child(secret.name, "name"), secret.ref.Name)
			c.given(at.Child(secret.name, "namespace"), secret.ref.Namespace)
		}
	}
	for _, secret := range []secretMember{
		{"controllerPublishSecretRef", s.ControllerPublishSecretRef}, {"controllerExpandSecretRef", s.ControllerExpandSecretRef},
	} {
		if secret.ref != nil {
			c.refused(at.Child(secret.name), "not supported by this node: it asks no controller")
		}
	}
}

// secretMember is a field that names a Secret.
type secretMember struct {
	name string
	ref  *corev1.SecretReference
}

// mountOptions wants them for nfs and csi alone: anything on this machine is mounted already.
func (c storageCheck) mountOptions(s *corev1.PersistentVolumeSpec, at *field.Path) {
	if len(s.MountOptions) > 0 && s.NFS == nil && s.CSI == nil {
		c.refused(at, "not supported by this node: they would hold for nfs and csi only")
	}
	for i, option := range s.MountOptions {
		if !fitOption.MatchString(option) {
			c.bad(at.Index(i), option, "must be one option, such as nfsvers=4.2")
		}
	}
}

var fitOption = regexp.MustCompile(`^[A-Za-z][-_.=:A-Za-z0-9]*$`)

// PersistentVolumeClaim returns the rules that a defaulted claim breaks.
func PersistentVolumeClaim(v *corev1.PersistentVolumeClaim) field.ErrorList {
	c := storageCheck{&check{}}
	c.errs = metaOf(&v.ObjectMeta, true)
	c.claimSpec(&v.Spec, field.NewPath("spec"))
	return c.errs
}

func (c storageCheck) claimSpec(s *corev1.PersistentVolumeClaimSpec, at *field.Path) {
	c.accessModes(at.Child("accessModes"), s.AccessModes)
	c.storage(at.Child("resources", "requests"), s.Resources.Requests)
	c.volumeMode(at.Child("volumeMode"), s.VolumeMode)
	if s.StorageClassName != nil {
		c.optionalName(at.Child("storageClassName"), *s.StorageClassName, validation.IsDNS1123Subdomain)
	}
	if s.Selector != nil {
		c.errs = append(c.errs, metav1validation.ValidateLabelSelector(s.Selector, metav1validation.LabelSelectorValidationOptions{}, at.Child("selector"))...)
	}
	if s.DataSource != nil || s.DataSourceRef != nil {
		c.refused(at.Child("dataSource"), "not supported by this node: a new volume is empty")
	}
	if s.VolumeAttributesClassName != nil {
		c.refused(at.Child("volumeAttributesClassName"), "not supported by this node: there are no such classes")
	}
}

func (c storageCheck) reclaims(s *corev1.PersistentVolumeSpec, at *field.Path) {
	oneOf(c.check, at, s.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain,
		corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle)
	switch {
	case s.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRecycle:
	case s.HostPath != nil && path.Clean(s.HostPath.Path) == "/":
		c.refused(at, "may not be Recycle for a hostPath of the root")
	default:
		c.refused(at, "not supported by this node: it does not empty volumes for others")
	}
}

// capacity wants the size of a volume and nothing else.
func (c storageCheck) capacity(at *field.Path, list corev1.ResourceList) {
	if _, ok := list[corev1.ResourceStorage]; len(list) == 0 {
		c.missing(at, "")
	} else if !ok || len(list) > 1 {
		c.errs = append(c.errs, field.NotSupported(at, list, []corev1.ResourceName{corev1.ResourceStorage}))
	} else {
		c.storage(at, list)
	}
}

func (c storageCheck) storage(at *field.Path, list corev1.ResourceList) {
	size, ok := list[corev1.ResourceStorage]
	switch {
	case !ok:
		c.missing(at.Key(string(corev1.ResourceStorage)), "")
	case size.Sign() <= 0:
		c.bad(at.Key(string(corev1.ResourceStorage)), size.String(), "must be greater than zero")
	}
}

// accessModes wants known ones, and ReadWriteOncePod alone.
func (c storageCheck) accessModes(at *field.Path, modes []corev1.PersistentVolumeAccessMode) {
	if len(modes) == 0 {
		c.missing(at, "")
	}
	if len(modes) > 1 && slices.Contains(modes, corev1.ReadWriteOncePod) {
		c.refused(at, "may not use ReadWriteOncePod with other access modes")
	}
	for i, mode := range modes {
		oneOf(c.check, at.Index(i), mode, corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOncePod)
	}
}

// oneUser refuses ReadWriteOncePod for a volume that no directory of a pod shows to be in use.
func (c storageCheck) oneUser(s *corev1.PersistentVolumeSpec, at *field.Path) {
	if slices.Contains(s.AccessModes, corev1.ReadWriteOncePod) && (s.HostPath != nil || s.Local != nil && isBlock(s.VolumeMode)) {
		c.refused(at, "not supported by this node: ReadWriteOncePod would not hold for a hostPath or a local device")
	}
}

func isBlock(mode *corev1.PersistentVolumeMode) bool {
	return mode != nil && *mode == corev1.PersistentVolumeBlock
}

func (c storageCheck) volumeMode(at *field.Path, mode *corev1.PersistentVolumeMode) {
	optionalOneOf(c.check, at, mode, corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeBlock)
}

// nfs checks values that become arguments of a mount command.
func (c storageCheck) nfs(n *corev1.NFSVolumeSource, at *field.Path) {
	c.given(at.Child("server"), n.Server)
	if strings.HasPrefix(n.Server, "-") || strings.ContainsAny(n.Server, " ,/") {
		c.bad(at.Child("server"), n.Server, "must be a host name or an address")
	}
	if !path.IsAbs(n.Path) {
		c.bad(at.Child("path"), n.Path, "must be an absolute path")
	}
}

func (c storageCheck) hostPath(h *corev1.HostPathVolumeSource, at *field.Path) {
	c.given(at.Child("path"), h.Path)
	c.noBacksteps(at.Child("path"), h.Path)
	if h.Type != nil && *h.Type != corev1.HostPathUnset {
		oneOf(c.check, at.Child("type"), *h.Type, corev1.HostPathDirectoryOrCreate, corev1.HostPathDirectory,
			corev1.HostPathFileOrCreate, corev1.HostPathFile, corev1.HostPathSocket,
			corev1.HostPathCharDev, corev1.HostPathBlockDev)
	}
}

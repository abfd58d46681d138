package manifest

import (
	"path"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// checkVolume validates one PersistentVolume. The node writes which claim it is bound to,
// but a manifest may name the one that it is set aside for.
func checkVolume(v *corev1.PersistentVolume) field.ErrorList {
	v.Status = corev1.PersistentVolumeStatus{}
	if ref := v.Spec.ClaimRef; ref != nil {
		v.Spec.ClaimRef = &corev1.ObjectReference{Kind: string(node.PersistentVolumeClaim), Namespace: ref.Namespace, Name: ref.Name}
	}
	setDefaultPtr(&v.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	setDefault(&v.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	if v.Spec.HostPath != nil {
		setDefaultPtr(&v.Spec.HostPath.Type, corev1.HostPathUnset)
	}
	c := &check{}
	c.errs = metaOf(&v.ObjectMeta, false)
	c.persistentVolume(&v.Spec, field.NewPath("spec"))
	return c.errs
}

func (c *check) persistentVolume(s *corev1.PersistentVolumeSpec, at *field.Path) {
	c.capacity(at.Child("capacity"), s.Capacity)
	if a := s.NodeAffinity; a != nil && a.Required == nil {
		c.missing(at.Child("nodeAffinity", "required"), "must specify required node constraints")
	} else if a != nil {
		c.nodeSelector(a.Required, at.Child("nodeAffinity", "required"))
	}
	if s.VolumeAttributesClassName != nil {
		c.refused(at.Child("volumeAttributesClassName"), "not supported by this node: there are no such classes")
	}
	c.accessModes(at.Child("accessModes"), s.AccessModes)
	c.volumeMode(at.Child("volumeMode"), s.VolumeMode)
	if s.VolumeMode != nil && *s.VolumeMode == corev1.PersistentVolumeBlock && s.Local == nil {
		c.refused(at.Child("volumeMode"), "not supported by this node: only a local volume can be a device")
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
	case s.Local != nil:
		c.given(at.Child("local", "path"), s.Local.Path)
		c.noBacksteps(at.Child("local", "path"), s.Local.Path)
		if s.Local.FSType != nil {
			c.refused(at.Child("local", "fsType"), "not supported by this node: it makes no file systems")
		}
	}
	if s.PersistentVolumeSource != (corev1.PersistentVolumeSource{HostPath: s.HostPath, Local: s.Local, NFS: s.NFS}) {
		c.refused(at, "not supported by this node: a volume has to be local, hostPath or nfs, there is no driver for another kind")
		return
	}
	c.exactlyOne(at, member{"hostPath", s.HostPath != nil}, member{"local", s.Local != nil}, member{"nfs", s.NFS != nil})
}

// mountOptions are for servers: what lies on this machine is mounted already.
func (c *check) mountOptions(s *corev1.PersistentVolumeSpec, at *field.Path) {
	if len(s.MountOptions) > 0 && s.NFS == nil {
		c.refused(at, "not supported by this node: they would hold for nfs only")
	}
	for i, option := range s.MountOptions {
		if !fitOption.MatchString(option) {
			c.bad(at.Index(i), option, "must be one option, such as nfsvers=4.2")
		}
	}
}

var fitOption = regexp.MustCompile(`^[A-Za-z][-_.=:A-Za-z0-9]*$`)

// checkClaim validates one PersistentVolumeClaim.
func checkClaim(v *corev1.PersistentVolumeClaim) field.ErrorList {
	v.Status = corev1.PersistentVolumeClaimStatus{}
	setDefaultPtr(&v.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	c := &check{}
	c.errs = metaOf(&v.ObjectMeta, true)
	c.claimSpec(&v.Spec, field.NewPath("spec"))
	return c.errs
}

func (c *check) claimSpec(s *corev1.PersistentVolumeClaimSpec, at *field.Path) {
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

func (c *check) reclaims(s *corev1.PersistentVolumeSpec, at *field.Path) {
	oneOf(c, at, s.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain,
		corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle)
	switch {
	case s.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRecycle:
	case s.HostPath != nil && path.Clean(s.HostPath.Path) == "/":
		c.refused(at, "may not be Recycle for a hostPath of the root")
	default:
		c.refused(at, "not supported by this node: it does not empty volumes for others")
	}
}

// capacity is a volume's size and nothing else.
func (c *check) capacity(at *field.Path, list corev1.ResourceList) {
	if _, ok := list[corev1.ResourceStorage]; len(list) == 0 {
		c.missing(at, "")
	} else if !ok || len(list) > 1 {
		c.errs = append(c.errs, field.NotSupported(at, list, []corev1.ResourceName{corev1.ResourceStorage}))
	} else {
		c.storage(at, list)
	}
}

func (c *check) storage(at *field.Path, list corev1.ResourceList) {
	size, ok := list[corev1.ResourceStorage]
	switch {
	case !ok:
		c.missing(at.Key(string(corev1.ResourceStorage)), "")
	case size.Sign() <= 0:
		c.bad(at.Key(string(corev1.ResourceStorage)), size.String(), "must be greater than zero")
	}
}

// accessModes: that one pod alone has a volume is more than the node sees to.
func (c *check) accessModes(at *field.Path, modes []corev1.PersistentVolumeAccessMode) {
	if len(modes) == 0 {
		c.missing(at, "")
	}
	if slices.Contains(modes, corev1.ReadWriteOncePod) {
		c.refused(at, "not supported by this node: ReadWriteOncePod would not hold, other pods would get the volume too")
		return
	}
	for i, mode := range modes {
		oneOf(c, at.Index(i), mode, corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany)
	}
}

func (c *check) volumeMode(at *field.Path, mode *corev1.PersistentVolumeMode) {
	optionalOneOf(c, at, mode, corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeBlock)
}

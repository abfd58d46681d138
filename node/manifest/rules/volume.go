package rules

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// volumeCheck holds the rules of a pod's volumes.
type volumeCheck struct {
	*check
	pod *corev1.Pod
}

// volumeList checks the volumes and returns them by name, for mounts and devices.
func (c volumeCheck) volumeList(at *field.Path) map[string]*corev1.VolumeSource {
	volumes := map[string]*corev1.VolumeSource{}
	names := map[string]bool{}
	for i := range c.pod.Spec.Volumes {
		volume, path := &c.pod.Spec.Volumes[i], at.Index(i)
		c.name(path.Child("name"), volume.Name, validation.IsDNS1123Label)
		if volume.Name != "" {
			c.unique(path.Child("name"), names, volume.Name)
		}
		c.exactlyOne(path, volumeMembers(&volume.VolumeSource)...)
		c.volumeSource(volume, path)
		volumes[volume.Name] = &volume.VolumeSource
	}
	return volumes
}

// volumeSource checks the sources a node makes by itself, and those that name an
// API object.
func (c volumeCheck) volumeSource(v *corev1.Volume, at *field.Path) {
	if v.EmptyDir != nil {
		c.emptyDir(v.EmptyDir, at.Child("emptyDir"))
	}
	if v.HostPath != nil {
		storageCheck{c.check}.hostPath(v.HostPath, at.Child("hostPath"))
	}
	if s := v.Secret; s != nil {
		c.given(at.Child("secret", "secretName"), s.SecretName)
		c.mode(at.Child("secret", "defaultMode"), s.DefaultMode)
		c.keysToPaths(s.Items, at.Child("secret", "items"), nil)
	}
	if m := v.ConfigMap; m != nil {
		c.given(at.Child("configMap", "name"), m.Name)
		c.mode(at.Child("configMap", "defaultMode"), m.DefaultMode)
		c.keysToPaths(m.Items, at.Child("configMap", "items"), nil)
	}
	if d := v.DownwardAPI; d != nil {
		c.mode(at.Child("downwardAPI", "defaultMode"), d.DefaultMode)
		c.downwardFiles(d.Items, at.Child("downwardAPI", "items"), nil)
	}
	if v.Projected != nil {
		c.projected(v.Projected, at.Child("projected"))
	}
	if v.Image != nil {
		c.given(at.Child("image", "reference"), v.Image.Reference)
		oneOf(c.check, at.Child("image", "pullPolicy"), v.Image.PullPolicy,
			corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	}
	if v.PersistentVolumeClaim != nil {
		c.given(at.Child("persistentVolumeClaim", "claimName"), v.PersistentVolumeClaim.ClaimName)
	}
	if v.CSI != nil {
		c.name(at.Child("csi", "driver"), v.CSI.Driver, csiDriverName)
		if ref := v.CSI.NodePublishSecretRef; ref != nil {
			c.given(at.Child("csi", "nodePublishSecretRef", "name"), ref.Name)
		}
	}
	if e := v.Ephemeral; e != nil {
		c.badEach(at.Child("name"), v.Name, claimName(c.pod.Name, v.Name))
		in := at.Child("ephemeral", "volumeClaimTemplate")
		if e.VolumeClaimTemplate == nil {
			c.missing(in, "")
		} else {
			c.templateMeta(&e.VolumeClaimTemplate.ObjectMeta, in.Child("metadata"))
			storageCheck{c.check}.claimSpec(&e.VolumeClaimTemplate.Spec, in.Child("spec"))
		}
	}
	c.networkVolume(v, at)
}

// claimName returns the faults of the name that a volume's own claim gets: the pod's and the volume's.
func claimName(pod, volume string) []string {
	if pod == "" || volume == "" {
		return nil // another rule reports that
	}
	return validation.IsDNS1123Subdomain(pod + "-" + volume)
}

// templateMeta checks what a pod's own claim takes from its template: labels and annotations.
func (c volumeCheck) templateMeta(meta *metav1.ObjectMeta, at *field.Path) {
	c.errs = append(c.errs, metav1validation.ValidateLabels(meta.Labels, at.Child("labels"))...)
	c.errs = append(c.errs, apivalidation.ValidateAnnotations(meta.Annotations, at.Child("annotations"))...)
	for _, m := range []member{
		{"name", meta.Name != ""}, {"generateName", meta.GenerateName != ""}, {"namespace", meta.Namespace != ""},
		{"uid", meta.UID != ""}, {"finalizers", len(meta.Finalizers) > 0}, {"ownerReferences", len(meta.OwnerReferences) > 0},
	} {
		if m.given {
			c.refused(at.Child(m.name), "may not be set: the claim takes labels and annotations alone")
		}
	}
}

// networkVolume checks the sources that reach over a network.
func (c volumeCheck) networkVolume(v *corev1.Volume, at *field.Path) {
	if v.NFS != nil {
		storageCheck{c.check}.nfs(v.NFS, at.Child("nfs"))
	}
	if s := v.ISCSI; s != nil {
		in := at.Child("iscsi")
		c.given(in.Child("targetPortal"), s.TargetPortal)
		c.given(in.Child("iqn"), s.IQN)
		c.between(in.Child("lun"), int64(s.Lun), 0, 255)
		if (s.DiscoveryCHAPAuth || s.SessionCHAPAuth) && s.SecretRef == nil {
			c.missing(in.Child("secretRef"), "must be given for CHAP authentication")
		}
	}
	if f := v.FC; f != nil {
		if (len(f.TargetWWNs) > 0) == (len(f.WWIDs) > 0) {
			c.bad(at.Child("fc", "targetWWNs"), f.TargetWWNs, "must specify either targetWWNs or wwids")
		}
		if len(f.TargetWWNs) > 0 && f.Lun == nil {
			c.missing(at.Child("fc", "lun"), "must be given with targetWWNs")
		}
	}
	if g := v.GitRepo; g != nil {
		c.given(at.Child("gitRepo", "repository"), g.Repository)
		c.localPath(at.Child("gitRepo", "directory"), g.Directory)
	}
}

func (c volumeCheck) emptyDir(e *corev1.EmptyDirVolumeSource, at *field.Path) {
	if e.SizeLimit != nil && e.SizeLimit.Sign() < 0 {
		c.bad(at.Child("sizeLimit"), e.SizeLimit.String(), "must be greater than or equal to 0")
	}
	switch page, huge := strings.CutPrefix(string(e.Medium), string(corev1.StorageMediumHugePagesPrefix)); {
	case huge:
		if _, err := resource.ParseQuantity(page); err != nil {
			c.bad(at.Child("medium"), string(e.Medium), "must name a page size, such as HugePages-2Mi")
		}
	case e.Medium != corev1.StorageMediumDefault:
		oneOf(c.check, at.Child("medium"), e.Medium, corev1.StorageMediumMemory, corev1.StorageMediumHugePages)
	}
	if e.Mode != nil {
		c.between(at.Child("mode"), int64(*e.Mode), 0, 0o1777)
	}
}

// keysToPaths checks which keys become which files. seen holds the paths of the
// whole volume: two keys cannot become one file.
func (c volumeCheck) keysToPaths(items []corev1.KeyToPath, at *field.Path, seen map[string]bool) {
	for i, item := range items {
		in := at.Index(i)
		c.given(in.Child("key"), item.Key)
		c.filePath(in.Child("path"), item.Path, seen)
		c.mode(in.Child("mode"), item.Mode)
	}
}

func (c volumeCheck) downwardFiles(items []corev1.DownwardAPIVolumeFile, at *field.Path, seen map[string]bool) {
	for i, item := range items {
		in := at.Index(i)
		c.filePath(in.Child("path"), item.Path, seen)
		c.mode(in.Child("mode"), item.Mode)
		c.exactlyOne(in, member{"fieldRef", item.FieldRef != nil}, member{"resourceFieldRef", item.ResourceFieldRef != nil})
		if item.FieldRef != nil {
			c.fieldRef(item.FieldRef, in.Child("fieldRef"), "metadata.name", "metadata.namespace",
				"metadata.labels", "metadata.annotations", "metadata.uid")
		}
		if ref := item.ResourceFieldRef; ref != nil {
			c.given(in.Child("resourceFieldRef", "containerName"), ref.ContainerName)
			c.resourceFieldRef(ref, in.Child("resourceFieldRef"))
		}
	}
}

// csiDriverName wants a DNS name that, unlike others, may have capital letters.
func csiDriverName(name string) []string {
	if len(name) > 63 {
		return []string{validation.MaxLenError(63)}
	}
	return validation.IsDNS1123Subdomain(strings.ToLower(name))
}

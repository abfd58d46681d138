package manifest

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// staticUID returns the UID that upstream's kubelet 1.36 derives from a manifest and its place. Each kubelet then finds
// the pods of the other. It follows from the content, so that an edited file is another pod. Upstream hashes the pod as
// its internal types print it; what differs between versions of upstream is in the tables below.
func staticUID(doc Doc, from Place) types.UID {
	pod := *doc.Pod
	pod.TypeMeta = metav1.TypeMeta{}
	if doc.NoNamespace {
		pod.Namespace = ""
	}
	p := printer{spec: reflect.ValueOf(pod.Spec)}
	p.typed(reflect.ValueOf(&pod))
	sum := fnv.New128a()
	io.WriteString(sum, p.String())
	if from.Source == FromFile {
		fmt.Fprintf(sum, "host:%sfile:%s", from.Node, from.Origin)
	} else {
		fmt.Fprintf(sum, "url:%s", from.Origin)
	}
	return types.UID(hex.EncodeToString(sum.Sum(nil)))
}

// earlierUID returns the UID that this kubelet derived before it knew upstream's rule. Records hold it.
func earlierUID(pod *corev1.Pod, from Place) types.UID {
	sum := md5.Sum(fmt.Appendf(canonical(pod), "\nnode:%s\norigin:%s", from.Node, from.Origin))
	return types.UID(hex.EncodeToString(sum[:]))
}

// internalOrder lists the fields of upstream's internal types whose order is not that of the API's types.
var internalOrder = map[reflect.Type][]string{
	reflect.TypeFor[corev1.PodSpec](): strings.Fields(`Volumes InitContainers Containers EphemeralContainers RestartPolicy
		TerminationGracePeriodSeconds ActiveDeadlineSeconds DNSPolicy NodeSelector ServiceAccountName
		AutomountServiceAccountToken NodeName SecurityContext ImagePullSecrets Hostname Subdomain SetHostnameAsFQDN
		Affinity SchedulerName Tolerations HostAliases PriorityClassName Priority PreemptionPolicy DNSConfig
		ReadinessGates RuntimeClassName Overhead EnableServiceLinks TopologySpreadConstraints OS SchedulingGates
		ResourceClaims Resources HostnameOverride SchedulingGroup`),
	reflect.TypeFor[corev1.PodSecurityContext](): strings.Fields(`HostNetwork HostPID HostIPC ShareProcessNamespace
		HostUsers SELinuxOptions WindowsOptions RunAsUser RunAsGroup RunAsNonRoot SupplementalGroups
		SupplementalGroupsPolicy FSGroup FSGroupChangePolicy Sysctls SeccompProfile AppArmorProfile SELinuxChangePolicy`),
	reflect.TypeFor[corev1.VolumeSource](): strings.Fields(`HostPath EmptyDir GCEPersistentDisk AWSElasticBlockStore
		GitRepo Secret NFS ISCSI Glusterfs PersistentVolumeClaim RBD Quobyte FlexVolume Cinder CephFS Flocker DownwardAPI
		FC AzureFile ConfigMap VsphereVolume AzureDisk PhotonPersistentDisk Projected PortworxVolume ScaleIO StorageOS
		CSI Ephemeral Image`),
	reflect.TypeFor[corev1.PodStatus](): strings.Fields(`ObservedGeneration Phase Conditions Message Reason
		NominatedNodeName HostIP HostIPs PodIPs StartTime QOSClass InitContainerStatuses ContainerStatuses
		EphemeralContainerStatuses Resize ResourceClaimStatuses ExtendedResourceClaimStatus AllocatedResources Resources
		NodeAllocatableResourceClaimStatuses`),
}

// later lists the fields that upstream 1.36 does not know.
var later = map[reflect.Type][]string{
	reflect.TypeFor[corev1.ClusterTrustBundleProjection]():  {"User"},
	reflect.TypeFor[corev1.ConfigMapVolumeSource]():         {"DefaultUser"},
	reflect.TypeFor[corev1.DownwardAPIVolumeFile]():         {"User"},
	reflect.TypeFor[corev1.DownwardAPIVolumeSource]():       {"DefaultUser"},
	reflect.TypeFor[corev1.EmptyDirVolumeSource]():          {"Mode"},
	reflect.TypeFor[corev1.GRPCAction]():                    {"Mode"},
	reflect.TypeFor[corev1.HTTPGetAction]():                 {"Protocol"},
	reflect.TypeFor[corev1.KeyToPath]():                     {"User"},
	reflect.TypeFor[corev1.PodCertificateProjection]():      {"User"},
	reflect.TypeFor[corev1.ProjectedVolumeSource]():         {"DefaultUser"},
	reflect.TypeFor[corev1.SecretVolumeSource]():            {"DefaultUser"},
	reflect.TypeFor[corev1.ServiceAccountTokenProjection](): {"User"},
	reflect.TypeFor[corev1.VolumeMount]():                   {"BindMountOptions"},
}

// printer prints values in the form that upstream hashes: %#v of the package spew.
type printer struct {
	strings.Builder
	spec reflect.Value // of the pod; it has fields that are internally the security context's
}

// typed prints a value behind its type.
func (p *printer) typed(v reflect.Value) {
	p.WriteString("(" + internalName(v.Type()) + ")")
	p.value(v)
}

func (p *printer) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		p.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.WriteString(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		p.WriteString(strconv.FormatUint(v.Uint(), 10))
	case reflect.String:
		p.WriteString(v.String())
	case reflect.Struct:
		p.fields(v)
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v.IsNil() {
			p.WriteString("<nil>")
			return
		}
		p.content(v)
	}
}

// content prints what a pointer, slice or map holds.
func (p *printer) content(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		p.value(v.Elem())
	case reflect.Slice:
		p.WriteString("[")
		for i := range v.Len() {
			p.separate(i)
			p.value(v.Index(i))
		}
		p.WriteString("]")
	case reflect.Map:
		p.WriteString("map[")
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for i, key := range keys {
			p.separate(i)
			p.WriteString(key.String() + ":")
			p.value(v.MapIndex(key))
		}
		p.WriteString("]")
	}
}

func (p *printer) separate(i int) {
	if i > 0 {
		p.WriteString(" ")
	}
}

func (p *printer) fields(v reflect.Value) {
	p.WriteString("{")
	for i, name := range internalFields(v.Type()) {
		p.separate(i)
		p.WriteString(name + ":")
		field := v.FieldByName(name)
		if !field.IsValid() {
			field = p.spec.FieldByName(name)
		}
		if name == "ExpirationSeconds" && v.Type() == reflect.TypeFor[corev1.ServiceAccountTokenProjection]() {
			field = field.Elem() // which is always set, by default
		}
		p.typed(field)
	}
	p.WriteString("}")
}

// internalFields returns the names of the fields of an internal type.
func internalFields(t reflect.Type) []string {
	if names, ok := internalOrder[t]; ok {
		return names
	}
	var names []string
	for i := range t.NumField() {
		if name := t.Field(i).Name; !slices.Contains(later[t], name) {
			names = append(names, name)
		}
	}
	return names
}

// internalName returns the name of an internal type. Only the package of the API's types is another.
func internalName(t reflect.Type) string {
	switch {
	case t.Name() != "" && t.PkgPath() == reflect.TypeFor[corev1.Pod]().PkgPath():
		return "core." + t.Name()
	case t.Name() != "":
		return t.String()
	case t.Kind() == reflect.Pointer:
		return "*" + internalName(t.Elem())
	case t.Kind() == reflect.Slice:
		return "[]" + internalName(t.Elem())
	case t.Kind() == reflect.Map:
		return "map[" + internalName(t.Key()) + "]" + internalName(t.Elem())
	}
	return t.String()
}

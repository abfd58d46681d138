package node

import (
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ObjectKind is Kubernetes' kind of an object that pods use.
type ObjectKind string

const (
	ConfigMap             ObjectKind = "ConfigMap"
	Secret                ObjectKind = "Secret"
	PersistentVolume      ObjectKind = "PersistentVolume"
	PersistentVolumeClaim ObjectKind = "PersistentVolumeClaim"
	RuntimeClass          ObjectKind = "RuntimeClass"
	ClusterTrustBundle    ObjectKind = "ClusterTrustBundle"
	PriorityClass         ObjectKind = "PriorityClass"
	NetworkPolicy         ObjectKind = "NetworkPolicy"
	CSIDriverObject       ObjectKind = "CSIDriver" // the type CSIDriver holds what a driver says of itself
	Lease                 ObjectKind = "Lease"
	ReplicaSet            ObjectKind = "ReplicaSet"
	Deployment            ObjectKind = "Deployment"
	Job                   ObjectKind = "Job"
	DaemonSet             ObjectKind = "DaemonSet"
	ControllerRevision    ObjectKind = "ControllerRevision"
	StatefulSet           ObjectKind = "StatefulSet"
	CronJob               ObjectKind = "CronJob"
	Service               ObjectKind = "Service"
	EndpointSlice         ObjectKind = "EndpointSlice"
)

// Value is the Kubernetes object that an Object holds.
type Value interface {
	runtime.Object
	metav1.Object
	metav1.ObjectMetaAccessor
}

// Kind is one line of the table of kinds that the node takes beside pods.
type Kind struct {
	Name       ObjectKind
	Version    string // of the API that the node stores: group and version
	Plural     string // in paths, as Kubernetes has it
	Short      string // kubectl's short name; empty if it has none
	Namespaced bool
	Record     string       // the field of a record on the disk that holds it; never changed
	New        func() Value // an empty one
	Hide       func(Value)  // takes out what an admin alone may see; nil hides nothing
	Fixed      []string     // top-level fields that never change, as JSON names them
	Workload   bool         // it stands for pods: changes of its spec are counted, its status is a client's, and pods go with it
	Part       bool         // it is made for a workload and goes with it
}

// kinds is the table. A kind that is added here needs a reader in node/manifest, too.
var kinds = []Kind{
	{
		Name: ConfigMap, Version: "v1", Plural: "configmaps", Short: "cm", Namespaced: true, Record: "ConfigMap",
		New: func() Value { return new(corev1.ConfigMap) },
	}, {
		Name: Secret, Version: "v1", Plural: "secrets", Namespaced: true, Record: "Secret",
		New:  func() Value { return new(corev1.Secret) },
		Hide: hideSecret, Fixed: []string{"type"},
	}, {
		Name: PersistentVolume, Version: "v1", Plural: "persistentvolumes", Short: "pv", Record: "Volume",
		New: func() Value { return new(corev1.PersistentVolume) },
	}, {
		Name: PersistentVolumeClaim, Version: "v1", Plural: "persistentvolumeclaims", Short: "pvc", Namespaced: true, Record: "Claim",
		New: func() Value { return new(corev1.PersistentVolumeClaim) },
	}, {
		Name: RuntimeClass, Version: "node.k8s.io/v1", Plural: "runtimeclasses", Record: "Class",
		New:   func() Value { return new(nodev1.RuntimeClass) },
		Fixed: []string{"handler"},
	}, {
		Name: ClusterTrustBundle, Version: "certificates.k8s.io/v1", Plural: "clustertrustbundles", Record: "Trust",
		New: func() Value { return new(certificatesv1.ClusterTrustBundle) },
	}, {
		Name: PriorityClass, Version: "scheduling.k8s.io/v1", Plural: "priorityclasses", Short: "pc", Record: "PriorityClass",
		New:   func() Value { return new(schedulingv1.PriorityClass) },
		Fixed: []string{"value", "preemptionPolicy"},
	}, {
		Name: NetworkPolicy, Version: "networking.k8s.io/v1", Plural: "networkpolicies", Short: "netpol", Namespaced: true,
		Record: "NetworkPolicy", New: func() Value { return new(networkingv1.NetworkPolicy) },
	}, {
		Name: CSIDriverObject, Version: "storage.k8s.io/v1", Plural: "csidrivers", Record: "CSIDriver",
		New: func() Value { return new(storagev1.CSIDriver) },
	}, {
		Name: Lease, Version: "coordination.k8s.io/v1", Plural: "leases", Namespaced: true, Record: "Lease",
		New: func() Value { return new(coordinationv1.Lease) },
	}, {
		Name: ReplicaSet, Version: "apps/v1", Plural: "replicasets", Short: "rs", Namespaced: true, Record: "ReplicaSet",
		New: func() Value { return new(appsv1.ReplicaSet) }, Workload: true,
	}, {
		Name: Deployment, Version: "apps/v1", Plural: "deployments", Short: "deploy", Namespaced: true, Record: "Deployment",
		New: func() Value { return new(appsv1.Deployment) }, Workload: true,
	}, {
		Name: Job, Version: "batch/v1", Plural: "jobs", Namespaced: true, Record: "Job",
		New: func() Value { return new(batchv1.Job) }, Workload: true,
	}, {
		Name: DaemonSet, Version: "apps/v1", Plural: "daemonsets", Short: "ds", Namespaced: true, Record: "DaemonSet",
		New: func() Value { return new(appsv1.DaemonSet) }, Workload: true,
	}, {
		Name: ControllerRevision, Version: "apps/v1", Plural: "controllerrevisions", Namespaced: true, Record: "ControllerRevision",
		New: func() Value { return new(appsv1.ControllerRevision) }, Fixed: []string{"data"}, Part: true,
	}, {
		Name: StatefulSet, Version: "apps/v1", Plural: "statefulsets", Short: "sts", Namespaced: true, Record: "StatefulSet",
		New: func() Value { return new(appsv1.StatefulSet) }, Workload: true,
	}, {
		Name: CronJob, Version: "batch/v1", Plural: "cronjobs", Short: "cj", Namespaced: true, Record: "CronJob",
		New: func() Value { return new(batchv1.CronJob) }, Workload: true,
	}, {
		Name: Service, Version: "v1", Plural: "services", Short: "svc", Namespaced: true, Record: "Service",
		New: func() Value { return new(corev1.Service) },
	}, {
		Name: EndpointSlice, Version: "discovery.k8s.io/v1", Plural: "endpointslices", Namespaced: true, Record: "EndpointSlice",
		New: func() Value { return new(discoveryv1.EndpointSlice) }, Fixed: []string{"addressType"},
	},
}

// Kinds returns the table of kinds.
func Kinds() []Kind { return slices.Clone(kinds) }

// KindNamed finds a kind by what a client calls it: ConfigMap, configmap or configmaps.
func KindNamed(name string) (Kind, bool) {
	return kindWhere(func(k Kind) bool { return strings.EqualFold(string(k.Name), name) || k.Plural == name })
}

func kindWhere(fits func(Kind) bool) (Kind, bool) {
	i := slices.IndexFunc(kinds, fits)
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

// Namespaced reports whether objects of the kind are in namespaces.
func (k ObjectKind) Namespaced() bool {
	known, _ := kindWhere(func(row Kind) bool { return row.Name == k })
	return known.Namespaced
}

// GroupVersionKind returns the kind as Kubernetes' machinery names it.
func (k Kind) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(k.Version, string(k.Name))
}

// holds reports whether a value is of the kind.
func (k Kind) holds(value Value) bool { return reflect.TypeOf(value) == reflect.TypeOf(k.New()) }

// hideSecret removes the values of a Secret. kubectl keeps what it applied in an
// annotation, values and all, and the managed fields name the keys.
func hideSecret(value Value) {
	secret := value.(*corev1.Secret)
	secret.Data, secret.StringData = nil, nil
	secret.ManagedFields = nil
	delete(secret.Annotations, corev1.LastAppliedConfigAnnotation)
}

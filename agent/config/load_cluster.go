package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// externalCloud is the only cloud provider left. A cloud controller initializes the node, and the taint keeps pods away
// until then.
const (
	externalCloud = "external"
	cloudTaint    = "node.cloudprovider.kubernetes.io/uninitialized"
)

func resolveCluster(o *Options, ips []netip.Addr) Cluster {
	k := &o.Kubelet
	c := Cluster{
		Kubeconfig: o.Kubeconfig, Bootstrap: o.Bootstrap, Rotate: k.RotateCertificates, Register: *k.RegisterNode,
		Taints: slices.Clone(k.RegisterWithTaints), ProviderID: k.ProviderID,
		Lease:       time.Duration(k.NodeLeaseDurationSeconds) * time.Second,
		StatusEvery: k.NodeStatusUpdateFrequency.Duration, StatusAtMost: k.NodeStatusReportFrequency.Duration,
		QPS: float32(*k.KubeAPIQPS), Burst: int(k.KubeAPIBurst),
		EventQPS: float64(*k.EventRecordQPS), EventBurst: int(k.EventBurst),
		MaxImages: int(*k.NodeStatusMaxImages), ExternalCloud: o.CloudProvider == externalCloud, GivenIPs: ips,
	}
	if c.ExternalCloud {
		c.Taints = append(c.Taints, corev1.Taint{Key: cloudTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule})
	}
	return c
}

func validateCluster(o *Options) field.ErrorList {
	k := &o.Kubelet
	var errs field.ErrorList
	if o.CloudProvider != "" && o.CloudProvider != externalCloud {
		errs = append(errs, field.NotSupported(field.NewPath("--cloud-provider"), o.CloudProvider, []string{externalCloud}))
	}
	if o.Kubeconfig != "" && k.RunOnce {
		errs = append(errs, field.Invalid(field.NewPath("--kubeconfig"), o.Kubeconfig, "cannot be combined with runOnce"))
	}
	if o.Bootstrap != "" && o.Kubeconfig == "" {
		errs = append(errs, field.Required(field.NewPath("--kubeconfig"), "--bootstrap-kubeconfig stores the new credential there"))
	}
	for i, t := range k.RegisterWithTaints {
		errs = append(errs, validateTaint(field.NewPath("registerWithTaints").Index(i), t)...)
	}
	return errs
}

func validateTaint(path *field.Path, t corev1.Taint) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsQualifiedName(t.Key) {
		errs = append(errs, field.Invalid(path.Child("key"), t.Key, problem))
	}
	for _, problem := range validation.IsValidLabelValue(t.Value) {
		errs = append(errs, field.Invalid(path.Child("value"), t.Value, problem))
	}
	effects := []corev1.TaintEffect{
		corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute,
	}
	if !slices.Contains(effects, t.Effect) {
		errs = append(errs, field.NotSupported(path.Child("effect"), t.Effect, effects))
	}
	return errs
}

// taints parses "key=value:Effect,key:Effect". The first use replaces the taints of the file; further uses add to it.
func taints(into *[]corev1.Taint) func(string) error {
	given := []corev1.Taint{}
	return func(s string) error {
		for item := range items(s) {
			name, effect, ok := strings.Cut(item, ":")
			if !ok {
				return fmt.Errorf("want key=value:Effect or key:Effect, got %q", item)
			}
			key, value, _ := strings.Cut(name, "=")
			given = append(given, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
		}
		*into = given
		return nil
	}
}

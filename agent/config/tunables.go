package config

import "k8s.io/apimachinery/pkg/util/validation/field"

// resolveTunables sets sysctls by default on a member of a cluster, as every kubelet
// does. A machine that runs pods on its own may also serve other purposes.
func resolveTunables(o *Options) Tunables {
	switch {
	case o.Kubelet.ProtectKernelDefaults:
		return TunablesCheck
	case o.KernelTunables == "set", o.KernelTunables == "" && o.Kubeconfig != "":
		return TunablesSet
	}
	return TunablesLeave
}

func validateTunables(o *Options) field.ErrorList {
	path := field.NewPath("--kernel-tunables")
	switch o.KernelTunables {
	case "", "leave":
		return nil
	case "set":
		if o.Kubelet.ProtectKernelDefaults {
			return field.ErrorList{field.Invalid(path, o.KernelTunables, "cannot be combined with protectKernelDefaults: true")}
		}
		return nil
	}
	return field.ErrorList{field.NotSupported(path, o.KernelTunables, []string{"set", "leave"})}
}

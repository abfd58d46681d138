package config

import "k8s.io/apimachinery/pkg/util/validation/field"

// resolveTunables does as every kubelet does on a machine that was made a node of a
// cluster. One that runs pods by itself may be somebody's own.
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
			return field.ErrorList{field.Invalid(path, o.KernelTunables, "protectKernelDefaults forbids it")}
		}
		return nil
	}
	return field.ErrorList{field.NotSupported(path, o.KernelTunables, []string{"set", "leave"})}
}

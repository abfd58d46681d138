package config

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	kubelet "k8s.io/kubelet/config/v1beta1"

	"nodal/node/users"
)

func resolvePods(k *kubelet.KubeletConfiguration) (Pods, error) {
	p := Pods{
		Max:            int(k.MaxPods),
		IDs:            users.Unit,
		UnsafeSysctls:  k.AllowedUnsafeSysctls,
		Sysctls:        k.DefaultPodSysctls,
		SeccompDefault: *k.SeccompDefault,
		DNS:            DNS{Servers: k.ClusterDNS, Domain: k.ClusterDomain},
		CrashLoopMax:   k.CrashLoopBackOff.MaxContainerRestartPeriod.Duration,
		HoldToDisk:     *k.LocalStorageCapacityIsolation,
	}
	if k.UserNamespaces != nil && k.UserNamespaces.IDsPerPod != nil {
		p.IDs = uint32(*k.UserNamespaces.IDsPerPod)
	}
	if k.ResolverConfig != nil {
		p.DNS.ResolvConf = *k.ResolverConfig
	}
	var err error
	p.Logs, err = resolveLogs(k)
	return p, err
}

func resolveLogs(k *kubelet.KubeletConfiguration) (Logs, error) {
	size, err := resource.ParseQuantity(k.ContainerLogMaxSize)
	if err != nil {
		return Logs{}, fmt.Errorf("parse containerLogMaxSize: %w", err)
	}
	return Logs{
		MaxSize: size.Value(), MaxFiles: int(*k.ContainerLogMaxFiles),
		Workers: int(*k.ContainerLogMaxWorkers), Every: k.ContainerLogMonitorInterval.Duration,
	}, nil
}

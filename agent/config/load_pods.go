package config

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node/users"
)

func resolvePods(o *Options) (Pods, error) {
	k := &o.Kubelet
	p := Pods{
		Max:            int(k.MaxPods),
		PerCPU:         int(k.PodsPerCore),
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
	p.Logs, err = resolveLogs(o)
	return p, err
}

func resolveLogs(o *Options) (Logs, error) {
	k := &o.Kubelet
	size, err := resource.ParseQuantity(k.ContainerLogMaxSize)
	if err != nil {
		return Logs{}, fmt.Errorf("parse containerLogMaxSize: %w", err)
	}
	budget, err := parseLogBudget(o.LogBudget)
	if err != nil {
		return Logs{}, fmt.Errorf("parse --container-log-budget: %w", err)
	}
	return Logs{
		MaxSize: size.Value(), MaxFiles: int(*k.ContainerLogMaxFiles),
		Workers: int(*k.ContainerLogMaxWorkers), Every: k.ContainerLogMonitorInterval.Duration, Budget: budget,
	}, nil
}

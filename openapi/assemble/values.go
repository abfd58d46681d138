package main

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// values lists the words that a field of each type may hold, which Go's types leave out.
func values() map[reflect.Type][]any {
	all := map[reflect.Type][]any{}
	set(all, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	set(all, corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure, corev1.ContainerRestartPolicyNever)
	set(all, corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)
	set(all, corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn)
	set(all, corev1.PullIfNotPresent, corev1.PullAlways, corev1.PullNever)
	set(all, corev1.DNSClusterFirst, corev1.DNSClusterFirstWithHostNet, corev1.DNSDefault, corev1.DNSNone)
	set(all, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
	set(all, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
	set(all, corev1.MountPropagationNone, corev1.MountPropagationHostToContainer, corev1.MountPropagationBidirectional)
	set(all, corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyIfPossible, corev1.RecursiveReadOnlyEnabled)
	set(all, corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
	set(all, corev1.NotRequired, corev1.RestartContainer)
	set(all, corev1.DefaultProcMount, corev1.UnmaskedProcMount)
	set(all, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeUnconfined)
	set(all, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeUnconfined)
	set(all, corev1.FSGroupChangeOnRootMismatch, corev1.FSGroupChangeAlways)
	set(all, corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)
	set(all, corev1.SELinuxChangePolicyRecursive, corev1.SELinuxChangePolicyMountOption)
	set(all, corev1.Linux, corev1.Windows)
	set(all, corev1.PreemptLowerPriority, corev1.PreemptNever)
	set(all, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
	set(all, corev1.TolerationOpExists, corev1.TolerationOpEqual, corev1.TolerationOpLt, corev1.TolerationOpGt)
	set(all, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt)
	set(all, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)
	set(all, corev1.DoNotSchedule, corev1.ScheduleAnyway)
	set(all, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
	set(all, corev1.HostPathUnset, corev1.HostPathDirectoryOrCreate, corev1.HostPathDirectory, corev1.HostPathFileOrCreate, corev1.HostPathFile, corev1.HostPathSocket, corev1.HostPathCharDev, corev1.HostPathBlockDev)
	set(all, corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOncePod)
	set(all, corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle)
	set(all, corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeBlock)
	return all
}

// examples lists some of the words that a field may hold.
func examples() map[reflect.Type][]any {
	all := map[reflect.Type][]any{}
	set(all, corev1.StorageMediumMemory, corev1.StorageMediumHugePages)
	set(all, corev1.SecretTypeOpaque, corev1.SecretTypeDockerConfigJson, corev1.SecretTypeDockercfg, corev1.SecretTypeBasicAuth, corev1.SecretTypeSSHAuth, corev1.SecretTypeTLS)
	set(all, corev1.Signal("SIGTERM"), "SIGINT", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGKILL")
	return all
}

func set[T ~string](all map[reflect.Type][]any, words ...T) {
	for _, word := range words {
		all[reflect.TypeFor[T]()] = append(all[reflect.TypeFor[T]()], string(word))
	}
}

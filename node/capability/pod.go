package capability

import corev1 "k8s.io/api/core/v1"

const (
	noScheduler = "a node alone does not schedule"
	noMatch     = "the pod fails with reason NodeAffinity where the node's labels do not match"
	noEviction  = "the pod fails with reason TaintToleration where it does not tolerate the NoExecute taints of a node alone; in a cluster they are the cluster's business. One that bears node.kubernetes.io/memory-pressure is taken while memory alone runs short"
	noAccounts  = "there are no service accounts here"
	byTheNode   = "written by the node"
)

func metadataRules() []rule {
	return []rule{
		honoured("apiVersion", "v1"),
		honoured("kind", "Pod"),
		without("status", byTheNode).silently(),
		honoured("metadata.name", "static pods get the node's name appended"),
		honoured("metadata.namespace", ""),
		honoured("metadata.uid", "made by the node when left out; it names directories and has to be fit for that"),
		honoured("metadata.labels", ""),
		honoured("metadata.annotations", ""),
		without("metadata.generateName", "the name is taken as it is given"),
		without("metadata.ownerReferences", "there are no owners to follow"),
		without("metadata.finalizers", "nobody is asked before a pod is removed"),
		without("metadata.managedFields", byTheNode).silently(),
		without("metadata.selfLink", byTheNode).silently(),
		without("metadata.resourceVersion", byTheNode).silently(),
		without("metadata.generation", byTheNode).silently(),
		without("metadata.creationTimestamp", byTheNode).silently(),
		without("metadata.deletionTimestamp", byTheNode).silently(),
		without("metadata.deletionGracePeriodSeconds", byTheNode).silently(),
	}
}

func podRules() []rule {
	return []rule{
		honoured("spec.restartPolicy", ""),
		honoured("spec.terminationGracePeriodSeconds", ""),
		honoured("spec.dnsPolicy", ""),
		honoured("spec.dnsConfig", ""),
		honoured("spec.hostNetwork", ""),
		honoured("spec.hostPID", ""),
		honoured("spec.hostIPC", ""),
		honoured("spec.shareProcessNamespace", ""),
		honoured("spec.hostname", ""),
		honoured("spec.hostnameOverride", ""),
		honoured("spec.subdomain", "the pod resolves its own full name; others need the cluster's DNS"),
		honoured("spec.setHostnameAsFQDN", ""),
		honoured("spec.hostAliases", ""),
		honoured("spec.imagePullSecrets", "secrets of type kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg"),
		honoured("spec.readinessGates", "a client sets the conditions by SetPodCondition"),
		honoured("spec.os.name", "a pod for another system than linux fails with PodOSNotSupported"),

		honoured("spec.activeDeadlineSeconds", "counted from the pod's start time; it may change while the pod runs"),
		honoured("spec.hostUsers", "false where the runtime can, as containerd from 2.0, and the kernel maps the owners of volumes' files; elsewhere the pod waits and says so"),
		honoured("spec.overhead", "set aside for the pod, and part of its limits"),
		refuses("spec.resourceClaims", "no device would be handed out"),
		honoured("spec.runtimeClassName", "of a RuntimeClass that was posted: its handler and overhead are taken when the pod is accepted"),

		without("spec.affinity", noScheduler).unless(corev1.Affinity{}),
		honoured("spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution", noMatch),
		without("spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution", noScheduler),
		without("spec.affinity.podAffinity", noScheduler),
		without("spec.affinity.podAntiAffinity", noScheduler),
		without("spec.nodeName", "becomes this node's name").silently(),
		honoured("spec.nodeSelector", noMatch),
		without("spec.preemptionPolicy", noScheduler).unless(corev1.PreemptLowerPriority),
		without("spec.priority", "pods are not ranked here, but that those from 2000000000 have others end where there is no room, are taken though the node runs short, and use no swap").unless(int32(0)),
		without("spec.priorityClassName", "pods are not ranked here, but that system-node-critical and system-cluster-critical ones have others end where there is no room, are taken though the node runs short, and use no swap, and the former end last when memory runs out").unless("system-node-critical"),
		without("spec.schedulerName", noScheduler).unless(corev1.DefaultSchedulerName),
		without("spec.schedulingGates", noScheduler),
		without("spec.schedulingGroup", noScheduler),
		honoured("spec.tolerations.key", noEviction),
		honoured("spec.tolerations.operator", noEviction),
		honoured("spec.tolerations.value", noEviction),
		honoured("spec.tolerations.effect", noEviction),
		without("spec.tolerations.tolerationSeconds", "a pod that is taken stays whatever the taints"),
		without("spec.topologySpreadConstraints", noScheduler),
		without("spec.evictionResponders", "nobody is asked before a pod is evicted"),
		without("spec.automountServiceAccountToken", noAccounts).unless(false),
		without("spec.serviceAccount", noAccounts).silently(), // serviceAccountName speaks for both
		without("spec.serviceAccountName", noAccounts).unless("default"),
		without("spec.enableServiceLinks", "there are no services here").unless(corev1.DefaultEnableServiceLinks),
	}
}

func podSecurityRules() []rule {
	const at = "spec.securityContext."
	return []rule{
		honoured(at+"runAsUser", ""),
		honoured(at+"runAsGroup", ""),
		honoured(at+"runAsNonRoot", ""),
		honoured(at+"supplementalGroups", ""),
		honoured(at+"supplementalGroupsPolicy", "Strict where the runtime can, as containerd from 2.0; elsewhere the pod fails"),
		honoured(at+"seLinuxOptions", ""),
		honoured(at+"seccompProfile", ""),
		honoured(at+"appArmorProfile", ""),
		honoured(at+"sysctls", ""),
		honoured(at+"fsGroup", "hostPath volumes keep their owners"),
		honoured(at+"fsGroupChangePolicy", "for persistent volumes that are local; the others are new for each pod"),
		without(at+"seLinuxChangePolicy", "there are no volumes whose label it would set"),
		refuses(at+"windowsOptions", "only linux runs here"),
	}
}
